"""The command line: `python -m core maps | label | train | models | weights | bench`."""

import argparse
import gc
import sys
from importlib import import_module

from core.cli.garbage import garbage_left
from core.cli.parsers import bench, label, maps, models, train
from core.errors import InputError


def parser() -> argparse.ArgumentParser:
    """All commands with their options."""
    top = argparse.ArgumentParser(
        prog="python -m core",
        description="What every attention head of a real transformer looks at, and what it costs.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="command")
    maps.add_parser(commands)
    label.add_parser(commands)
    train.add_parser(commands)
    models.add_parsers(commands)
    bench.add_parser(commands)
    return top


def main(arguments: list[str] | None = None) -> int:
    """Run one command; 2 and one sentence on bad input."""
    options = parser().parse_args(arguments)
    # A command's module is imported by its name, and only now: most of them bring torch.
    with garbage_left():
        command = import_module(options.module)
    try:
        return command.run(options)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except UnicodeEncodeError as error:
        came = ascii(error.object[max(0, error.start - 20) : error.end])
        sys.stderr.write(f"Text in Unicode was wanted; bytes that are none came, in {came}.\n")
        return 2


if __name__ == "__main__":
    code = main()
    gc.freeze()  # what is left goes with the process: looking through it once more takes a second
    sys.exit(code)
