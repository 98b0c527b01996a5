"""The command `weights`: fetch what needs no hub, or check what was fetched."""

import argparse
import sys

from core.cli.progress import bar
from core.models.files.sources import SOURCES
from core.models.files.weights import check, fetch


def run(options: argparse.Namespace) -> int:
    """Fetch the weights of these names, or all; with --check, read again what is there."""
    for name in options.names or SOURCES:
        if options.check:
            check(name)
        else:
            fetch(name, bar(f"fetching {name}"))
        sys.stdout.write(f"{name}: {'as it was fetched' if options.check else 'ready'}\n")
    return 0
