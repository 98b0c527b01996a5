"""Longformer attention: a window, and a few first positions that attend, and are open, to all.

Source: Beltagy et al. 2020, section 3.1, https://arxiv.org/abs/2004.05150

The paper gives the global positions projections of their own; here they share those of the others,
since a mechanism gets its queries and keys ready made. The width is that of `core.attention.window`
(w keys to each side, the query's own among them), about half of what the paper calls the window.
In cross attention the first queries attend to all keys, and all queries to the first keys.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern import sparse
from core.attention.common.pattern_pieces import Piece, joined
from core.attention.common.separable import blocks
from core.attention.common.visibility import Pairs, Positions
from core.attention.window import ROWS, WIDTH, Window
from core.errors import InputError

GLOBALS = 8


@dataclass(frozen=True)
class Longformer:
    """The pairs of a window, and those in which either position is among the first `globals`."""

    window: Window
    globals: int

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """The first queries and all keys; then some queries, the first keys and those around."""
        first = min(self.globals, q)
        if first:
            yield Piece(slice(0, first), (slice(0, min(first, k) if is_causal else k),), (0, 0))
        for block in blocks(q - first, ROWS):
            queries = slice(first + block.start, first + block.stop)
            near = self.window.keys(queries, k, is_causal)
            runs = joined([slice(0, min(self.globals, k)), near])
            yield Piece(queries, runs, (len(runs), runs[-1].start - queries.start))

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where the two are near, or one of them is global."""
        near = self.window.visible(queries, keys, length)
        return near | (queries < self.globals) | (keys < self.globals)


def longformer(width: int = WIDTH, globals: int = GLOBALS) -> Mechanism:
    """Longformer attention of another width, or with another number of global positions.

    Raises:
        InputError: if the width is below 1, or the number of global positions below 0.
    """
    if width < 1 or globals < 0:
        raise InputError(
            "A window of at least 1 position and 0 or more global positions were wanted; "
            f"{width} and {globals} came."
        )
    usual = (width, globals) == (WIDTH, GLOBALS)
    return sparse(
        Longformer(Window(width), globals),
        name="longformer" if usual else f"longformer {width} + {globals}",
        title=f"Longformer {width} + {globals}",
        source="Beltagy et al. 2020, https://arxiv.org/abs/2004.05150",
        cost=f"time grows as N x {width + globals}, memory as N; far pairs are lost, "
        f"but for those with one of the first {globals} positions",
    )


LONGFORMER = longformer()
