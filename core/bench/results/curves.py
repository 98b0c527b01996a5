"""Curves: how cost grows with the length, and from which length on one mechanism is cheaper."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from core.bench.timing import Spread


class Growth(NamedTuple):
    """value = factor x length ^ exponent."""

    exponent: float
    error: float | None  # standard error of the exponent; None: two lengths leave nothing to judge
    factor: float

    def at(self, length: int | float) -> float:
        """The fitted value."""
        return self.factor * length**self.exponent


class Crossing(NamedTuple):
    """The length where two mechanisms cost the same."""

    length: float
    low: float | None  # where one quartile of the ratio crosses; None: not within what was measured
    high: float | None


def growth(lengths: Sequence[int | float], values: Sequence[int | float]) -> Growth | None:
    """The least-squares line through the logarithms; None for fewer than two lengths."""
    points = [
        (math.log(length), math.log(value))
        for length, value in zip(lengths, values, strict=True)
        if value > 0
    ]
    if len(points) < 2:
        return None
    middle = fmean(x for x, _ in points), fmean(y for _, y in points)
    spread = sum((x - middle[0]) ** 2 for x, _ in points)
    if spread == 0:
        return None
    exponent = sum((x - middle[0]) * (y - middle[1]) for x, y in points) / spread
    start = middle[1] - exponent * middle[0]
    error = None
    if len(points) > 2:
        left = sum((y - start - exponent * x) ** 2 for x, y in points)
        error = math.sqrt(left / (len(points) - 2) / spread)
    return Growth(exponent, error, math.exp(start))


def crossings(lengths: Sequence[int | float], ratios: Sequence[Spread]) -> list[Crossing]:
    """Lengths where the ratio of two mechanisms passes 1, straight lines between the logarithms.

    Args:
        lengths: in rising order.
        ratios: one mechanism's time as a share of the other's, at each of them.
    """
    low, high = (
        _passes_one(lengths, [getattr(ratio, name) for ratio in ratios]) for name in ("low", "high")
    )
    found = []
    for length in _passes_one(lengths, [ratio.median for ratio in ratios]):
        ends = [_nearest(length, low), _nearest(length, high)]
        known = sorted(end for end in ends if end is not None)
        below = next((end for end in known if end <= length), None)
        above = next((end for end in reversed(known) if end >= length), None)
        found.append(Crossing(length, below, above))
    return found


def _passes_one(lengths: Sequence[int | float], values: Sequence[int | float]) -> list[float]:
    """Where a line through the points passes 1."""
    points = [(math.log(x), math.log(y)) for x, y in zip(lengths, values, strict=True)]
    found = [math.exp(x) for x, y in points if y == 0]
    for (left, below), (right, above) in zip(points, points[1:], strict=False):
        if below * above < 0:
            found.append(math.exp(left - below * (right - left) / (above - below)))
    return sorted(found)


def _nearest(length: float, found: list[float]) -> float | None:
    return min(found, key=lambda each: abs(math.log(each / length)), default=None)
