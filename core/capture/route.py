"""Route: which attention calls of a forward pass go through which mechanism."""

from collections.abc import Collection
from typing import NamedTuple

from torch import Tensor

from core.attention.common.grid import Grid
from core.attention.common.mechanism import Mechanism


class Route(NamedTuple):
    """Which calls go through which mechanism."""

    mechanism: Mechanism | None
    layers: Collection[int] | None = None  # None: all
    grid: Grid | None = None

    def of(self, call: int) -> Mechanism | None:
        """The mechanism of a call, counted from 0; None leaves the kernel alone."""
        return self.mechanism if self.layers is None or call in self.layers else None

    def grid_of(self, query: Tensor) -> Grid | None:
        """The grid, if the positions of this call are those of the picture."""
        fits = self.grid is not None and self.grid.positions == query.shape[-2]
        return self.grid if fits else None
