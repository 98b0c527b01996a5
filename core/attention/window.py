"""Window attention: a query attends to the keys near it and to no others.

Source: Beltagy et al. 2020, section 3.1, https://arxiv.org/abs/2004.05150

A width of w means that query i attends to key j if they are fewer than w positions apart: w keys
with itself where attention is causal, as in Mistral's sliding window, and 2 w - 1 where it is not.
Query i stands beside key i, in cross attention too (see `core.attention.common.pattern`).
"""

from collections.abc import Iterator
from dataclasses import dataclass

from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern import sparse
from core.attention.common.pattern_pieces import Piece
from core.attention.common.separable import blocks
from core.attention.common.visibility import Pairs, Positions
from core.errors import InputError

WIDTH = 128
ROWS = 64  # queries of a piece: fewer leave the kernel idle, more compute pairs for nothing


@dataclass(frozen=True)
class Window:
    """The pairs that are fewer than `width` positions apart."""

    width: int

    def keys(self, queries: slice, k: int, is_causal: bool) -> slice:
        """The keys that any of these queries attends to, or the last one where there are none."""
        ahead = 0 if is_causal else self.width - 1
        first = min(max(queries.start - self.width + 1, 0), k - 1)
        return slice(first, min(queries.stop + ahead, k))

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """Some queries, and the keys around them."""
        for queries in blocks(q, ROWS):
            near = self.keys(queries, k, is_causal)
            yield Piece(queries, (near,), (near.start - queries.start,))

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where a query and a key are near."""
        return (queries - keys).abs() < self.width


def window(width: int = WIDTH) -> Mechanism:
    """Window attention of another width.

    Raises:
        InputError: if the width is below 1.
    """
    if width < 1:
        raise InputError(f"A window of at least 1 position was wanted; {width} came.")
    return sparse(
        Window(width),
        name="window" if width == WIDTH else f"window {width}",
        title=f"Window {width}",
        source="Beltagy et al. 2020, https://arxiv.org/abs/2004.05150",
        cost=f"time grows as N x {width}, memory as N; keys {width} positions away are lost",
    )


WINDOW = window()
