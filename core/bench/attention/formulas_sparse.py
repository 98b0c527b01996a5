"""Formulas of the mechanisms that keep some pairs: window, longformer, block_sparse and swin."""

from collections import Counter
from functools import partial
from typing import NamedTuple

from core.attention.block_sparse import SEED, SIZE, BlockSparse
from core.attention.longformer import GLOBALS, Longformer
from core.attention.pattern import TOGETHER, Pattern
from core.attention.pattern_pieces import Piece
from core.attention.swin import WIDTH as SIDE
from core.attention.swin import Swin
from core.attention.window import WIDTH, Window
from core.bench.attention.formulas_softmax import flash_block
from core.bench.attention.sizes import EXACT, Formula, Sizes, inputs_traffic

PLACE = 4  # bytes of a position


class Copies(NamedTuple):
    """How often what pieces look with, and at, is copied; runs with even spaces are views."""

    keys: int  # k and v, and a third where the runs of a piece are brought together unevenly
    queries: int = 0


def _width(piece: Piece) -> int:
    return sum(run.stop - run.start for run in piece.keys)


def _height(piece: Piece) -> int:
    return piece.queries.stop - piece.queries.start


def _flops(pattern: Pattern, sizes: Sizes) -> float:
    """All pairs of every piece: what a piece hides from some of its queries is computed too."""
    pieces = pattern.pieces(sizes.length, sizes.length, sizes.causal)
    pairs = sum(_height(piece) * _width(piece) for piece in pieces)
    return 4.0 * sizes.batch * sizes.heads * pairs * sizes.dim


def _peak(pattern: Pattern, copies: Copies, sizes: Sizes) -> float:
    """The larger of two moments: pieces are being computed together, or all are being joined."""
    heads, places = sizes.batch * sizes.heads, PLACE * sizes.length
    done, highest = 0.0, 2.0 * sizes.output + places
    for (rows, width), count in _alike(pattern, sizes).items():
        number = heads * sizes.dim * sizes.number
        for start in range(0, count, TOGETHER):
            together = min(TOGETHER, count - start)
            stacked = together * (copies.queries * rows + copies.keys * width) * number
            own = together * heads * rows * (sizes.dim * sizes.number + EXACT)
            seen = rows * width * (1 + sizes.number)  # True and False, and as numbers
            blocks = sizes.threads * flash_block(sizes, rows, width)
            highest = max(highest, done + places + stacked + own + seen + blocks)
            done += together * rows * number
    return highest


def _alike(pattern: Pattern, sizes: Sizes) -> Counter[tuple[int, int]]:
    """How many pieces there are of each height and width: alike ones are computed together."""
    pieces = pattern.pieces(sizes.length, sizes.length, sizes.causal)
    return Counter((_height(piece), _width(piece)) for piece in pieces)


def _formula(pattern: Pattern, copies: Copies) -> Formula:
    return Formula(partial(_flops, pattern), inputs_traffic, partial(_peak, pattern, copies))


WINDOW = _formula(Window(WIDTH), Copies(keys=0))
LONGFORMER = _formula(Longformer(Window(WIDTH), GLOBALS), Copies(keys=2))
BLOCK_SPARSE = _formula(BlockSparse(SIZE, 3, 1, SEED), Copies(keys=3))
SWIN = _formula(Swin(SIDE, 0), Copies(keys=2, queries=1))
SWIN_SHIFTED = _formula(Swin(SIDE, SIDE // 2), Copies(keys=2, queries=1))
