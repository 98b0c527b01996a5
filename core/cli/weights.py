"""The command `weights`: fetch what needs no hub."""

import argparse
import sys

from core.cli.progress import bar
from core.models.files.weights import SOURCES, fetch


def run(options: argparse.Namespace) -> int:
    """Fetch the weights of these names, or all."""
    for name in options.names or SOURCES:
        fetch(name, bar(f"fetching {name}"))
        sys.stdout.write(f"{name}: ready\n")
    return 0
