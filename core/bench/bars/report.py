"""Report: what was measured beside the bar it has to meet, as a table to read."""

from dataclasses import dataclass

from core.bench.timing import Spread


@dataclass(frozen=True)
class Line:
    """One measured thing."""

    what: str
    value: Spread
    bar: float | int | None  # the most that is allowed; None for what only explains another line
    unit: str = "ratio"

    @property
    def met(self) -> bool:
        """Does the median keep the bar?"""
        return self.bar is None or self.value.median <= self.bar

    def __str__(self) -> str:
        """Name, median, quartiles, bar and verdict."""
        spread = f"{_short(self.value.low)}..{_short(self.value.high)}"
        if self.bar is None:
            return f"{self.what:<66} {_short(self.value.median):>9} {spread:>19}"
        verdict = "met" if self.met else "NOT MET"
        return (
            f"{self.what:<66} {_short(self.value.median):>9} {spread:>19} "
            f"<= {_short(self.bar):>7} {self.unit:<6} {verdict}"
        )


HEADER = f"{'what':<66} {'median':>9} {'quartiles':>19}    {'bar':>7}"


def exactly(number: float) -> Spread:
    """A number that was counted, not timed."""
    return Spread(number, number, number)


def _short(number: float | int) -> str:
    return f"{number:.4g}"
