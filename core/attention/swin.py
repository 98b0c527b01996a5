"""Swin attention: a patch attends to the patches of its own window of the picture alone.

Source: Liu et al. 2021, section 3.2, https://arxiv.org/abs/2103.14030

Windows that never move never talk to each other: a stack takes `swin` and `swin_shifted`, whose
windows are cut half a window further on, in turn. The paper wraps the shifted picture around and
masks what is no neighbour; here nothing wraps, the windows at the border are smaller. As in the
paper's code, an axis no longer than a window is not shifted.

Patches lie row by row after the prefix (CLS, registers), which attends to all and to which all
attend: it lies in no window. Without a grid there is no prefix, and k keys lie in rows of the root
of k, rounded up; the last row may be short. Query i stands beside key i.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common import pattern
from core.attention.common.grid import Grid
from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern_pieces import Order, Piece, joined
from core.attention.common.visibility import Pairs, Positions
from core.errors import InputError

WIDTH = 7


@dataclass(frozen=True)
class Swin:
    """The pairs in one window, and those in which either position is of the prefix."""

    width: int  # patches a side
    shift: int  # patches from the first row and column to the first cut
    grid: Grid | None = None

    def grid_of(self, length: int) -> Grid:
        """How so many keys lie."""
        if self.grid is not None:
            return self.grid
        columns = math.isqrt(max(length, 1) - 1) + 1
        return Grid(-(-length // columns), columns)

    def window_of(self, positions: Positions, length: int) -> Positions:
        """The number of each position's window, 0 for the prefix.

        Queries beyond the grid lie in rows that go on below it.
        """
        rows, columns, prefix = self.grid_of(length)
        down, right = (self.shift if side > self.width else 0 for side in (rows, columns))
        patches = positions - prefix
        # A shifted axis begins with a window that is cut short: hence the 1.
        row = (patches // columns - down) // self.width + 1
        column = (patches % columns - right) // self.width + 1
        number = 1 + row * (columns // self.width + 2) + column
        return number.masked_fill(positions < prefix, 0)

    def order(self, q: int, k: int, device: torch.device) -> Order:
        """The positions window by window."""
        windows = self.window_of(torch.arange(max(q, k)), k)
        orders = (windows[:length].argsort(stable=True) for length in (q, k))
        return Order(*(each.to(device, torch.int32) for each in orders))

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """The queries of a window, with the keys of the prefix and its own: runs in the order.

        The positions of a window are in order, so two of one size keep the same pairs, causal too.
        """
        windows = self.window_of(torch.arange(max(q, k)), k)
        sizes = (windows[:length].bincount(minlength=int(windows.max()) + 1) for length in (q, k))
        ends = [(0, 0), *zip(*(each.cumsum(0).tolist() for each in sizes), strict=True)]
        prefix = slice(0, ends[1][1])
        for window, edges in enumerate(pairwise(ends)):
            queries, keys = (slice(*edge) for edge in zip(*edges, strict=True))
            if queries.start == queries.stop:
                continue
            if window == 0:
                yield Piece(queries, (prefix if is_causal else slice(0, k),), (0,))
                continue
            runs = joined([prefix, keys])
            # A window with no keys gets one that it does not attend to.
            yield Piece(queries, runs or (slice(0, 1),), (1 if runs else 2,))

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where both are in one window, or one is of the prefix."""
        prefix = self.grid_of(length).prefix
        together = self.window_of(queries, length) == self.window_of(keys, length)
        return together | (queries < prefix) | (keys < prefix)


def attend(windows: Swin, inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax within each window."""
    _, _, q, k = inputs.shape
    windows = replace(windows, grid=inputs.grid)
    return pattern.attend(windows, inputs, windows.order(q, k, inputs.query.device))


def weights(windows: Swin, inputs: AttentionInputs) -> Float[Tensor, "batch head q k"]:
    """The matrix of the windows, as `core.attention.common.pattern.weights`."""
    return pattern.weights(replace(windows, grid=inputs.grid), inputs)


def swin(width: int = WIDTH, shift: int = 0) -> Mechanism:
    """Swin attention with windows of another size, or cut elsewhere.

    Raises:
        InputError: if the width is below 1, or the shift not from 0 to less than the width.
    """
    if not 0 <= shift < width:
        raise InputError(
            "Windows of at least 1 patch a side, and a shift from 0 to less than that, were "
            f"wanted; {width} and {shift} came."
        )
    usual = {(WIDTH, 0): "swin", (WIDTH, WIDTH // 2): "swin_shifted"}
    name = usual.get((width, shift), f"swin {width}, shift {shift}")
    return Mechanism(
        name=name,
        title=f"Swin {width} x {width}" + (f", shifted by {shift}" if shift else ""),
        source="Liu et al. 2021, https://arxiv.org/abs/2103.14030",
        exact=False,
        cost=f"time grows as N x {width * width}, memory as N; what lies in other windows is lost",
        attend_kernel=partial(attend, Swin(width, shift)),
        weights_kernel=partial(weights, Swin(width, shift)),
        has_dropout=False,
        spatial=True,
    )


SWIN = swin()
SWIN_SHIFTED = swin(shift=WIDTH // 2)
