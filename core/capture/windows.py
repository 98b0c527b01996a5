"""Windows: how a picture is cut for windowed attention, and where every window's patches lie in it.

Source: Liu et al. 2021, section 3.2, https://arxiv.org/abs/2103.14030
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Bool, Int
from torch import Tensor


@dataclass(frozen=True)
class Windows:
    """A grid of patches, rolled up and to the left by `shift`, then cut into equal windows.

    Positions are patches in reading order, slots the places in a window. Rolling brings patches of
    opposite edges into one window, where they may not attend to each other.

    Raises:
        ValueError: if the windows do not fill the grid, or a shift is not smaller than a window.
    """

    grid: tuple[int, int]  # rows and columns of patches
    window: tuple[int, int]
    shift: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        """Refuse what cannot be cut."""
        sides = tuple(zip(self.grid, self.window, self.shift, strict=True))
        if any(side % size or not 0 <= shift < size for side, size, shift in sides):
            raise ValueError(
                "windows that fill the grid, with a smaller shift, were wanted; a grid of "
                f"{self.grid}, windows of {self.window} and a shift of {self.shift} came"
            )

    @property
    def positions(self) -> int:
        """Patches of the picture."""
        return self.grid[0] * self.grid[1]

    @property
    def area(self) -> int:
        """Patches of a window."""
        return self.window[0] * self.window[1]

    @property
    def count(self) -> int:
        """Windows of a picture; a batch holds all windows of its first picture first."""
        return self.positions // self.area

    @cached_property
    def order(self) -> Int[Tensor, "window slot"]:
        """The position in each slot of each window: the roll and the cut undone."""
        rows, columns = self._lines(0), self._lines(1)
        cut = rows[:, None, :, None] * self.grid[1] + columns[None, :, None, :]
        return cut.reshape(self.count, self.area)

    @cached_property
    def regions(self) -> Int[Tensor, " position"]:
        """A number for each position: those of one number attend to each other alone."""
        down, across = (lines < lines[:, :1] for lines in (self._lines(0), self._lines(1)))
        wrapped = 2 * down[:, None, :, None] + 1 * across[None, :, None, :]
        numbers = 4 * torch.arange(self.count)[:, None] + wrapped.reshape(self.count, self.area)
        return torch.empty(self.positions, dtype=torch.long).put_(self.order, numbers)

    def place(self, position: int) -> tuple[int, int]:
        """The window and the slot of a position."""
        return divmod(int(self._slots[position]), self.area)

    def around(self, positions: range) -> list[int]:
        """The windows that any of these positions lies in."""
        slots = self._slots[positions.start : positions.stop]
        return slots.div(self.area, rounding_mode="floor").unique().tolist()

    def visible(self, positions: range) -> Bool[Tensor, "q k"]:
        """True where these positions may attend, to any of the picture."""
        return self.regions[positions.start : positions.stop, None] == self.regions

    def inside(self, windows: Int[Tensor, " window"]) -> Bool[Tensor, "window slot slot"]:
        """True where a slot of each window may attend, to any slot of it."""
        regions = self.regions[self.order[windows]]
        return regions[:, :, None] == regions[:, None]

    @cached_property
    def _slots(self) -> Int[Tensor, " position"]:
        """Where each position comes in the order of all windows."""
        return self.order.flatten().argsort()

    def _lines(self, axis: int) -> Int[Tensor, "window line"]:
        """The rows or columns of the picture that each window covers, those that wrapped last."""
        rolled = torch.arange(self.grid[axis]) + self.shift[axis]
        return (rolled % self.grid[axis]).reshape(-1, self.window[axis])
