"""Saved: a study as JSON with its raw samples, and as a table of CSV."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict

from core.bench.model.layers import in_words
from core.bench.model.measuring import Cell, Measured
from core.bench.model.study import ModelStudy
from core.picture.files.csv_cells import guarded

FORMAT = 1
COLUMNS = (
    "mechanism", "layers", "milliseconds", "milliseconds_low", "milliseconds_high", "rounds",
    "time_over_own", "time_over_own_low", "time_over_own_high", "peak_bytes", "cosine",
    "relative_error", "first_prediction", "its_probability", "stayed", "refused",
)  # fmt: skip


def to_json(study: ModelStudy) -> str:
    """The whole as text."""
    return json.dumps({"format": FORMAT, **asdict(study)}, indent=1)


def to_csv(study: ModelStudy) -> str:
    """One row a variant, then one a layer by itself; what was not measured is empty."""
    written = io.StringIO()
    table = csv.DictWriter(written, COLUMNS)
    table.writeheader()
    for each in study.variants:
        table.writerow(_of_variant(study, each))
    for cell in study.cells:
        table.writerow(_of_cell(study, cell))
    return written.getvalue()


def _of_variant(study: ModelStudy, each: Measured) -> dict[str, object]:
    cells = {
        "mechanism": each.variant.mechanism or "own",
        "layers": in_words(each.variant.layers, study.layers),
        "rounds": len(each.samples),
        "peak_bytes": each.peak_bytes,
        "refused": each.refused,
    }
    for name, spread in (("milliseconds", each.milliseconds), ("time_over_own", each.ratio)):
        if spread is not None:
            ends = {f"{name}_low": spread.low, f"{name}_high": spread.high}
            cells |= {name: spread.median, **ends}
    if each.drift is not None:
        cells |= {"cosine": each.drift.cosine, "relative_error": each.drift.error}
        cells |= dict(_of_prediction(each))
    return cells


def _of_prediction(each: Measured) -> Iterator[tuple[str, object]]:
    if each.drift.shifts:
        shift = each.drift.shifts[0]
        yield "first_prediction", guarded(shift.now.label)
        yield "its_probability", shift.now.probability
        yield "stayed", all(other.stayed for other in each.drift.shifts)


def _of_cell(study: ModelStudy, cell: Cell) -> dict[str, object]:
    return {
        "mechanism": cell.mechanism,
        "layers": in_words((cell.call,), study.layers),
        "cosine": cell.cosine,
        "refused": cell.refused,
    }
