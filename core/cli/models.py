"""The command `models`: every model on the list, and where it comes from."""

import argparse
import sys

from core.models import MODELS, OFFLINE, ready


def run(options: argparse.Namespace) -> int:
    """List the models."""
    for name, entry in MODELS.items():
        state = "from the hub"
        if name in OFFLINE:
            state = "ready" if ready(name) else "needs no hub, not fetched yet"
        sys.stdout.write(f"{name:<44} {entry.kind:<7} {state:<31} {entry.about}\n")
    sys.stdout.write("Others of transformers, timm and open_clip load by their names or folders.\n")
    return 0
