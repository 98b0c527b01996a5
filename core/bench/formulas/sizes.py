"""Sizes: one call of attention in numbers, and what a formula says of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

EXACT = 4  # bytes of the numbers in which sums are taken: float32


class Sizes(NamedTuple):
    """One call of attention, as many queries as keys."""

    batch: int
    heads: int
    length: int
    dim: int
    number: int  # bytes of one number of the inputs
    causal: bool
    threads: int
    on_cpu: bool

    @property
    def rows(self) -> int:
        """Rows of queries in all heads."""
        return self.batch * self.heads * self.length

    @property
    def pairs(self) -> float:
        """Pairs of a query and a key that it may look at."""
        return self.rows * ((self.length + 1) / 2 if self.causal else float(self.length))

    @property
    def output(self) -> int:
        """Bytes of the output, and of q, of k and of v."""
        return self.rows * self.dim * self.number


@dataclass(frozen=True)
class Formula:
    """What one forward call of a mechanism costs; None where there is no formula."""

    flops: Callable[[Sizes], float]
    traffic: Callable[[Sizes], float]  # bytes read and written at the least
    peak: Callable[[Sizes], float] | None  # bytes held at one time, output included


def inputs_traffic(sizes: Sizes) -> float:
    """q, k and v read once, and the output written: less is not possible."""
    return 4.0 * sizes.output
