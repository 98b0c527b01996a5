"""The options of `label`."""

import argparse
from pathlib import Path

from core.cli.parsers.facts import LABEL_LISTS, PICTURES_AT_A_TIME, TEMPLATES


def add_parser(commands: "argparse._SubParsersAction") -> None:
    """Add the command to the others."""
    command = commands.add_parser(
        "label",
        help="label the pictures of a folder, or rank them by words",
        description="Write a CSV with the first labels of every picture of a folder and of the "
        "folders in it, with cosine and probability; or with --rank its pictures, the nearest "
        "first. A labelling that was stopped goes on where it was with the same command.",
    )
    command.add_argument("folder", type=Path, help="a folder of pictures")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--labels",
        help="'a,b,c'; or a .txt file, one a line; or a .csv file with a column 'label'; or one of "
        f"{', '.join(LABEL_LISTS)}. Labels with a comma in them: use a file",
    )
    what.add_argument("--rank", metavar="WORDS", help="rank the pictures by these words instead")
    command.add_argument("--out", type=Path, required=True, help="the .csv file to write")
    command.add_argument(
        "--templates",
        help=f"one of {', '.join(repr(name) for name in TEMPLATES)}, or a .txt file of own ones "
        "(default 'a photo of a {}', with --rank 'none')",
    )
    command.add_argument("--model", default="clip-mini", help="default clip-mini, the offline one")
    command.add_argument("--mechanism", help="a name of MECHANISMS; the model's own if none")
    command.add_argument(
        "--batch", type=int, default=PICTURES_AT_A_TIME, help="at a time (default %(default)s)"
    )
    command.add_argument(
        "--least-cosine", type=float, metavar="C",
        help="call a picture 'none of these' whose best label has less; a label that begins with "
        "'-', such as '-a blank page', does so where it fits best",
    )  # fmt: skip
    command.add_argument(
        "--into", type=Path, metavar="FOLDER", help="sort the pictures into a folder a label, there"
    )
    command.add_argument(
        "--link", choices=("hard", "symbolic"), help="with --into: link, in place of copying"
    )
    command.add_argument(
        "--dry-run", action="store_true", help="say what would be done, and write nothing"
    )
    command.add_argument("--top", type=int, default=5, help="labels a picture (default 5)")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    command.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    command.set_defaults(module="core.cli.label")
