"""The options of `bench`: what is measured, and each with its own."""

import argparse
from pathlib import Path

from core.bench.shapes import SHAPES
from core.cli.parsers.facts import MECHANISMS, OFFLINE_MODEL, STUDY_ROUNDS, SWEEP

KEEP_MEMORY = (
    "keep freed memory between calls (glibc): another measurement than that of a plain process"
)


def add_parser(commands: "argparse._SubParsersAction") -> None:
    """Add the command, with what it measures, to the others."""
    bench = commands.add_parser("bench", help="measure, as ratios side by side")
    what = bench.add_subparsers(dest="what", required=True, metavar="what")
    for name, about in (
        ("capture", "what recording and maps cost"),
        ("clip", "encoding, labelling and the CLIP page"),
        ("long", "a text of 8,192 tokens: its maps, tiles and bytes"),
    ):
        what.add_parser(name, help=about).set_defaults(module="core.cli.bench_tables")
    attention = what.add_parser(
        "attention",
        help="mechanisms side by side: error, time, memory",
        description="Without options: the table of bars. With any of them: a sweep over lengths, "
        "every mechanism on the same q, k and v, in a process of its own: random ones, or those "
        "of a model that reads a text or a picture.",
    )
    _add_sweep(attention)
    _add_model_inputs(attention)
    attention.add_argument("--out", type=Path, help="a .json file for raw samples and versions")
    attention.set_defaults(module="core.cli.bench_attention")
    _add_model(what)


def _add_sweep(command: argparse.ArgumentParser) -> None:
    command.add_argument("--bars", action="store_true", help="print the table of bars")
    command.add_argument(
        "--arms", dest="mechanisms", nargs="+", metavar="NAME", help=", ".join(MECHANISMS)
    )
    command.add_argument(
        "--mechanism", dest="own", action="append", metavar="FILE.py:NAME",
        help="a mechanism of your own beside them, in a file that is run",
    )  # fmt: skip
    command.add_argument("--lengths", nargs="+", type=int, metavar="N", help="positions")
    command.add_argument(
        "--batches", nargs="+", type=int, metavar="N", help="batches, swept at one length"
    )
    command.add_argument(
        "--preset", choices=SHAPES, metavar="NAME",
        help=f"heads, dim, causality and length of {', '.join(SHAPES)}",
    )  # fmt: skip
    command.add_argument("--kv-heads", type=int, metavar="N", help="that the heads share")
    command.add_argument(
        "--decode", action="store_true", default=None,
        help="one query against all keys, as a cache holds them; else as many queries",
    )  # fmt: skip
    for name, about in (
        ("batch", "sequences at a time"),
        ("heads", "heads"),
        ("dim", "dimensions of a head"),
        ("rounds", "samples of every mechanism"),
        ("seed", "of the random inputs"),
    ):
        about = f"{about} (default {SWEEP[name]})"
        command.add_argument(f"--{name}", type=int, metavar="N", help=about)
    command.add_argument(
        "--threads",
        type=int,
        metavar="N",
        help="of the processor (default: as many as torch takes)",
    )
    command.add_argument("--precision", help="float32, bfloat16 or float16 (default float32)")
    command.add_argument("--device", help="auto, cpu, cuda or mps (default cpu)")
    command.add_argument("--causal", action="store_true", default=None, help="no looking ahead")
    command.add_argument(
        "--backward", action="store_true", default=None,
        help="training steps too, with and without checkpointing",
    )  # fmt: skip
    command.add_argument("--keep-memory", action="store_true", default=None, help=KEEP_MEMORY)
    command.add_argument(
        "--most-seconds", type=float, metavar="S",
        help=f"refuse a longer run (default {SWEEP['most_seconds']})",
    )  # fmt: skip


def _add_model_inputs(command: argparse.ArgumentParser) -> None:
    """What is read, by which model, and whose call is taken."""
    own = command.add_argument_group("on the q, k and v of a model, in place of random ones")
    own.add_argument("--text", help="that the model reads")
    own.add_argument("--picture", type=Path, metavar="FILE", help="that the model looks at")
    own.add_argument(
        "--model",
        help="default {text} for a text, {vision} for a picture".format_map(OFFLINE_MODEL),
    )
    own.add_argument("--layer", type=int, metavar="N", help="whose call it is (default 0)")


def _add_model(what: "argparse._SubParsersAction") -> None:
    command = what.add_parser(
        "model",
        help="a whole model: time, memory and drift under every mechanism, layer by layer",
    )
    command.add_argument("model", help="a name of `models`, a hub model or a folder")
    read = command.add_mutually_exclusive_group(required=True)
    read.add_argument("--text", help="what a model of texts reads, or the path of a .txt file")
    read.add_argument("--picture", type=Path, help="what a model of pictures reads")
    command.add_argument(
        "--mechanisms", nargs="+", metavar="NAME",
        help=f"{', '.join(MECHANISMS)}; all that can run here if none",
    )  # fmt: skip
    command.add_argument(
        "--layers", metavar="A-B", help="also route these only, counted from 0, such as 8-12"
    )
    command.add_argument(
        "--rounds",
        type=int,
        default=STUDY_ROUNDS,
        metavar="N",
        help="samples (default %(default)s)",
    )
    command.add_argument("--device", default="cpu", help="auto, cpu, cuda or mps (default cpu)")
    command.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    command.add_argument("--keep-memory", action="store_true", help=KEEP_MEMORY)
    command.add_argument("--out", type=Path, help="a .json file with raw samples, or a .csv table")
    command.set_defaults(module="core.cli.bench_model")
