"""The command `bench model`: a whole model by every mechanism, and which layers bear it."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from core.attention import MECHANISMS, unavailable
from core.bench.model.layers import calls_of, in_words, layers_of
from core.bench.model.measuring import Measured
from core.bench.model.saved import to_csv, to_json
from core.bench.model.study import ModelStudy, study
from core.bench.model.verdict import cosine, of_range, tolerant_layers, verdict
from core.cli.loading import load
from core.cli.progress import bar
from core.errors import InputError
from core.models import tower_for
from core.models.files.text_files import text_of
from core.models.model import Model
from core.models.vision.images import open_picture

STOPPED = 130  # what a shell gives a command that Ctrl+C ended
WRITERS = {".json": to_json, ".csv": to_csv}


def run(options: argparse.Namespace) -> int:
    """Measure, print, and write what was asked for."""
    if options.out is not None and options.out.suffix.lower() not in WRITERS:
        raise InputError(f"A file that ends in .json or .csv was wanted; '{options.out}' came.")
    kind = "text" if options.picture is None else "vision"
    model = tower_for(
        load(options.model, options.device, options.precision, keep_memory=options.keep_memory),
        kind,
    )
    prepared = model.prepare(_read(options))
    for note in prepared.notes:
        sys.stderr.write(f"{note}\n")
    layers = None if options.layers is None else calls_of(options.layers, layers_of(prepared))
    found, stopped = None, False
    try:
        for found in study(
            model, prepared, options.mechanisms or _available(model), layers=layers,
            rounds=options.rounds, on_step=bar("measuring"),
        ):  # fmt: skip
            for line in _lines(found):
                sys.stdout.write(f"{line}\n")
            _write(options.out, found)
    except KeyboardInterrupt:
        stopped = True
        sys.stderr.write("\nStopped; what was measured so far stays.\n")
    return STOPPED if stopped else 0


def _read(options: argparse.Namespace) -> object:
    if options.picture is not None:
        return open_picture(options.picture, options.picture.name)
    return text_of(Path(options.text)) if options.text.endswith(".txt") else options.text


def _available(model: Model) -> list[str]:
    return [name for name in MECHANISMS if unavailable(name, model.device, model.dtype) is None]


def _lines(whole: ModelStudy) -> Iterator[str]:
    """What is new: the table first, then a row for each layer, and the sentences at the end."""
    if whole.finished:
        yield from (
            each for each in (verdict(whole), *of_range(whole), *tolerant_layers(whole)) if each
        )
    elif whole.cells:
        last = whole.cells[-1].call
        row = [cell for cell in whole.cells if cell.call == last]
        cosines = (f"{cell.mechanism} {_cosine(cell.cosine)}" for cell in row)
        yield f"{in_words((last,), whole.layers)} by itself: {', '.join(cosines)}"
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
