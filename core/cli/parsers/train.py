"""The options of `train`."""

import argparse
from pathlib import Path

from core.cli.parsers.facts import TRAINING


def add_parser(commands: "argparse._SubParsersAction") -> None:
    """Add the command to the others."""
    command = commands.add_parser(
        "train",
        help="train clip-mini, the small offline CLIP, and measure it",
        description="Fetch pictures, train clip-mini's head, save and measure it. What is done "
        "already is not done again.",
    )
    command.add_argument("model", choices=("clip-mini",), help="what to train")
    command.add_argument(
        "--seed", type=int, default=TRAINING["seed"], help="of the head (default %(default)s)"
    )
    command.add_argument(
        "--epochs", type=int, default=TRAINING["epochs"], help="default %(default)s"
    )
    command.add_argument("--float32", action="store_true", help="for CPUs without bfloat16")
    command.add_argument("--out", type=Path, help="file of the head (default: the asset)")
    command.add_argument(
        "--evaluate-only", action="store_true", help="measure the file, train nothing"
    )
    command.add_argument(
        "--validate",
        action="store_true",
        help="measure on the validation nouns, and learn neither from them nor the held-out ones",
    )
    command.set_defaults(module="core.cli.train")
