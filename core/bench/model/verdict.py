"""Verdict: what a study says, in a sentence or two."""

from collections.abc import Iterator

from core.attention import MECHANISMS
from core.bench.model.layers import in_words
from core.bench.model.measuring import Cell, Measured
from core.bench.model.study import ModelStudy
from core.bench.results.summary import times
from core.bench.timing import Spread

UNTESTED = 1 - 1e-6  # above this an approximation has changed nothing: it reaches every key
KEPT = 0.9999  # a cosine above this is called kept
SAME = 0.03  # a smaller difference of time is not called one: rounds of a pass are few
ALIKE = 0.005  # layers whose cosines differ by less bear a mechanism alike


def verdict(study: ModelStudy) -> str | None:
    """Which mechanism is fastest in all layers, what it does to the output, and which keeps it."""
    told = [each for each in _in_all(study) if each.refused is None]
    if not told:
        return None
    once = ", timed once" if study.slow else ""
    start = f"In all layers of {study.model}, at {study.positions:,} positions{once}, "
    changing = [each for each in told if not MECHANISMS[each.variant.mechanism].exact]
    closest = max(changing, key=lambda each: each.drift.cosine, default=None)
    fastest = min(told, key=lambda each: each.ratio.median)
    if not _is_faster(fastest.ratio):
        sentence = f"{start}nothing that was measured is faster than its own attention"
        if closest is None:
            return f"{sentence}."
        best = cosine(closest.drift.cosine)
        return f"{sentence}; {closest.variant.mechanism} keeps its output best, at cosine {best}."
    sentence = f"{start}{fastest.variant.mechanism} {speed(fastest.ratio)} than its own attention"
    if study.slow:  # one sample of each: it has no spread to be sure by
        share = f"{fastest.ratio.median:.2g} of the time of its own attention"
        sentence = f"{start}{fastest.variant.mechanism} took {share}, as far as one pass can tell,"
    if not MECHANISMS[fastest.variant.mechanism].exact and fastest.drift.cosine > UNTESTED:
        return f"{sentence}; it attends as softmax does here: nothing of its own was tested."
    if fastest.drift.cosine >= KEPT:
        return f"{sentence} and keeps its output (cosine {cosine(fastest.drift.cosine)})."
    sentence += f" and moves its output to cosine {cosine(fastest.drift.cosine)}"
    if closest == fastest:
        return f"{sentence}."
    keeps = f"{closest.variant.mechanism} keeps it at {cosine(closest.drift.cosine)}"
    return f"{sentence}; {keeps} and {speed(closest.ratio)}."


def of_range(study: ModelStudy) -> Iterator[str]:
    """For each mechanism: what the chosen layers cost and move, beside all layers."""
    for each in _in_all(study) if study.chosen is not None else ():
        name = each.variant.mechanism
        part = study.variant(name, study.chosen)
        where = f"{name} in {in_words(study.chosen, study.layers)} only"
        if part.refused is not None:
            yield f"{where}: {part.refused}"
            continue
        words = f"{where}: cosine {cosine(part.drift.cosine)}, {part.ratio.median:.3g} of the time"
        if each.refused is None:
            words += (
                f"; in all layers {cosine(each.drift.cosine)} and {each.ratio.median:.3g} of it"
            )
        yield f"{words}."


def tolerant_layers(study: ModelStudy) -> Iterator[str]:
    """For each mechanism: the layer that bears it best, and the one that bears it worst."""
    for name in study.mechanisms:
        cells = [cell for cell in study.cells if cell.mechanism == name and cell.cosine is not None]
        if len(cells) < 2:
            continue
        best, worst = (pick(cells, key=lambda cell: cell.cosine) for pick in (max, min))
        if best.cosine - worst.cosine < ALIKE:
            yield f"{name}: every layer bears it alike, cosine {cosine(worst.cosine)}."
            continue
        yield (
            f"{name}: {_layer(study, best)} bears it best (cosine {cosine(best.cosine)}), "
            f"{_layer(study, worst)} worst ({cosine(worst.cosine)})."
        )


def speed(ratio: Spread) -> str:
    """A time as a share of the model's own, in words."""
    if ratio.wide:
        low, high = f"{ratio.low:.2g}", f"{ratio.high:.2g}"
        return f"takes {low} to {high} of the time: this machine is too busy to tell"
    if _is_faster(ratio):
        low, high = times(1 / ratio.high), times(1 / ratio.low)
        return f"is {times(1 / ratio.median)} ({low} to {high}) faster"
    if ratio.median > 1 + SAME and ratio.low > 1:
        low, high = times(ratio.low), times(ratio.high)
        return f"is {times(ratio.median)} ({low} to {high}) slower"
    return "takes the same time, as far as one can tell"


def cosine(value: float) -> str:
    """A cosine with two digits, or as many as tell it from 1."""
    if value >= 1 - 5e-7:
        return "1"
    digits = next((count for count in range(2, 7) if round(value, count) < 1), 6)
    return f"{value:.{digits}f}"


def _in_all(study: ModelStudy) -> list[Measured]:
    return [
        each
        for each in study.variants
        if each.variant.mechanism is not None and each.variant.layers is None
    ]


def _is_faster(ratio: Spread) -> bool:
    return ratio.median < 1 - SAME and ratio.high < 1


def _layer(study: ModelStudy, cell: Cell) -> str:
    return in_words((cell.call,), study.layers)
