"""The command `bench model`: a whole model by every mechanism, and which layers bear it."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from core import models as registry
from core.attention import MECHANISMS, unavailable
from core.bench.model.layers import calls_of, in_words, layers_of
from core.bench.model.measuring import Measured
from core.bench.model.saved import to_csv, to_json
from core.bench.model.study import ModelStudy, study
from core.bench.model.verdict import cosine, of_range, tolerant_layers, verdict
from core.bench.timing import ROUNDS
from core.cli import maps
from core.errors import InputError
from core.models.files.text_files import text_of
from core.models.model import Model
from core.models.vision.images import open_picture

STOPPED = 130  # what a shell gives a command that Ctrl+C ended
WRITERS = {".json": to_json, ".csv": to_csv}


def add_parser(what: "argparse._SubParsersAction") -> None:
    """The command and its options."""
    command = what.add_parser(
        "model",
        help="a whole model: time, memory and drift under every mechanism, layer by layer",
    )
    command.add_argument("model", help="a name of `models`, a hub model or a folder")
    given = command.add_mutually_exclusive_group(required=True)
    given.add_argument("--text", help="what a model of texts reads, or the path of a .txt file")
    given.add_argument("--picture", type=Path, help="what a model of pictures reads")
    command.add_argument(
        "--mechanisms", nargs="+", metavar="NAME",
        help=f"{', '.join(MECHANISMS)}; all that can run here if none",
    )  # fmt: skip
    command.add_argument(
        "--layers", metavar="A-B", help="also route these only, counted from 0, such as 8-12"
    )
    command.add_argument(
        "--rounds", type=int, default=ROUNDS, metavar="N", help=f"samples (default {ROUNDS})"
    )
    command.add_argument("--device", default="cpu", help="auto, cpu, cuda or mps (default cpu)")
    command.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    command.add_argument("--out", type=Path, help="a .json file with raw samples, or a .csv table")
    command.set_defaults(act=measure)


def measure(given: argparse.Namespace) -> int:
    """Measure, print, and write what was asked for."""
    if given.out is not None and given.out.suffix.lower() not in WRITERS:
        raise InputError(f"A file that ends in .json or .csv was wanted; '{given.out}' came.")
    loaded = registry.load(
        given.model, device=given.device, precision=given.precision,
        on_progress=maps.bar(f"fetching {given.model}"),
    )  # fmt: skip
    model = registry.tower_for(loaded, "text" if given.picture is None else "vision")
    prepared = model.prepare(_read(given))
    for note in prepared.notes:
        sys.stderr.write(f"{note}\n")
    layers = None if given.layers is None else calls_of(given.layers, layers_of(prepared))
    found, stopped = None, False
    try:
        for found in study(
            model, prepared, given.mechanisms or _available(model), layers=layers,
            rounds=given.rounds, on_step=maps.bar("measuring"),
        ):  # fmt: skip
            for line in _told(found):
                sys.stdout.write(f"{line}\n")
            _write(given.out, found)
    except KeyboardInterrupt:
        stopped = True
        sys.stderr.write("\nStopped; what was measured so far stays.\n")
    return STOPPED if stopped else 0


def _read(given: argparse.Namespace) -> object:
    if given.picture is not None:
        return open_picture(given.picture, given.picture.name)
    return text_of(Path(given.text)) if given.text.endswith(".txt") else given.text


def _available(model: Model) -> list[str]:
    return [name for name in MECHANISMS if unavailable(name, model.device, model.dtype) is None]


def _told(whole: ModelStudy) -> Iterator[str]:
    """What is new: the table first, then a row for each layer, and the sentences at the end."""
    if whole.finished:
        yield from (
            each for each in (verdict(whole), *of_range(whole), *tolerant_layers(whole)) if each
        )
    elif whole.cells:
        last = whole.cells[-1].call
        row = [cell for cell in whole.cells if cell.call == last]
        told = (f"{cell.mechanism} {_cosine(cell.cosine)}" for cell in row)
        yield f"{in_words((last,), whole.layers)} by itself: {', '.join(told)}"
    else:
        compared = whole.own.drift.what
        yield f"{whole.model}, {whole.positions:,} positions, {whole.device}; cosine of: {compared}"
        if whole.slow:
            yield "a pass takes long, so each was timed once after a warm-up"
        yield from (_line(whole, each) for each in whole.variants)


def _line(whole: ModelStudy, each: Measured) -> str:
    start = (
        f"{each.variant.mechanism or 'own':<14}{in_words(each.variant.layers, whole.layers):<16}"
    )
    if each.refused is not None:
        return f"{start}{each.refused}"
    memory = "" if each.peak_bytes is None else f", peak {each.peak_bytes / 1e6:,.1f} MB"
    words = (
        f"{start}{each.milliseconds.median:9.4g} ms, {each.ratio.median:.3f} of own "
        f"({each.ratio.low:.3f}..{each.ratio.high:.3f}){memory}, "
        f"cosine {cosine(each.drift.cosine)}, error {each.drift.error:.2g}"
    )
    for shift in each.drift.shifts[:1]:
        words += f", first '{shift.now.label}' {shift.now.probability:.2f}"
        words += "" if shift.stayed else f" (was '{shift.own.label}' {shift.own.probability:.2f})"
    return words


def _cosine(value: float | None) -> str:
    return "refused" if value is None else cosine(value)


def _write(path: Path | None, whole: ModelStudy) -> None:
    if path is None:
        return
    try:
        path.write_text(WRITERS[path.suffix.lower()](whole), encoding="utf-8")
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}.") from error
