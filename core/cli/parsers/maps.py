"""The options of `maps`."""

import argparse
from pathlib import Path

from core.cli.parsers.facts import MECHANISMS


def add_parser(commands: "argparse._SubParsersAction") -> None:
    """Add the command to the others."""
    maps = commands.add_parser(
        "maps",
        help="write the map of one head of a text or a picture",
        description="Write the attention map of one head: .png, .npz, .csv or .html.",
    )
    maps.add_argument("input", help="a text in quotes, or the path of a picture or a text file")
    maps.add_argument("--model", help="a name of `models`, a hub model or a folder")
    maps.add_argument(
        "--layer", type=int, default=0,
        help="counted from 0 (default 0); in a Swin through all stages, and the layer's stage is "
        "the one shown",
    )  # fmt: skip
    maps.add_argument("--head", type=int, default=0, help="counted from 0 (default 0)")
    maps.add_argument(
        "--query", help="pictures: 'CLS', 'register 1' or a patch 'row,column' of the layer's grid"
    )
    maps.add_argument("--mechanism", help=f"{', '.join(MECHANISMS)}; the model's own if none")
    maps.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    maps.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    maps.add_argument("--hide-special", action="store_true", help="leave out CLS, SEP and the like")
    maps.add_argument("--by-word", action="store_true", help="join the tokens of a word")
    maps.add_argument(
        "--region", metavar="Q:Q,K:K", help="texts: a part of the map, such as 1024:1536,0:512"
    )
    maps.add_argument(
        "--reduce", choices=["max", "mean"], default="max",
        help="long texts: what a cell of several weights holds (default max)",
    )  # fmt: skip
    maps.add_argument("--out", type=Path, required=True, help="file to write; its ending decides")
    maps.set_defaults(module="core.cli.maps")
