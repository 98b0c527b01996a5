"""Formulas of the mechanisms that keep some pairs: window, longformer, block_sparse and swin."""

from functools import partial
from typing import NamedTuple

from core.attention.block_sparse import SEED, SIZE, BlockSparse
from core.attention.common.pattern import Pattern, batches
from core.attention.common.pattern_pieces import Piece, are_even
from core.attention.longformer import GLOBALS, Longformer
from core.attention.swin import WIDTH as SIDE
from core.attention.swin import Swin
from core.attention.window import WIDTH, Window
from core.bench.formulas.sizes import EXACT, Formula, Sizes, inputs_traffic
from core.bench.formulas.softmax import flash_block

PLACE = 4  # bytes of a position


class Copies(NamedTuple):
    """How often what pieces look with, and at, is copied."""

    keys: int  # k and v, and a third where the runs of a piece are brought together unevenly
    queries: int = 0


def _copies(pieces: list[Piece], ordered: bool) -> Copies:
    """Of pieces that are computed together: runs with even spaces are views."""
    if ordered:
        return Copies(keys=2, queries=1)
    runs = [piece.keys for piece in pieces]
    several = any(len(each) > 1 for each in runs)
    if len(pieces) == 1 or are_even(runs):
        return Copies(keys=2 if several else 0)
    even = are_even([(piece.queries,) for piece in pieces])
    return Copies(keys=3 if several else 2, queries=0 if even else 1)


def _width(piece: Piece) -> int:
    return sum(run.stop - run.start for run in piece.keys)


def _height(piece: Piece) -> int:
    return piece.queries.stop - piece.queries.start


def _flops(pattern: Pattern, sizes: Sizes) -> float:
    """All pairs of every piece: what a piece hides from some of its queries is computed too."""
    pieces = pattern.pieces(sizes.length, sizes.length, sizes.causal)
    pairs = sum(_height(piece) * _width(piece) for piece in pieces)
    return 4.0 * sizes.batch * sizes.heads * pairs * sizes.dim


def _peak(pattern: Pattern, ordered: bool, sizes: Sizes) -> float:
    """The larger of two moments: pieces are being computed together, or all are being joined."""
    heads, number = sizes.batch * sizes.heads, sizes.batch * sizes.heads * sizes.dim * sizes.number
    done, highest = 0.0, 2.0 * sizes.output + PLACE * sizes.length
    for pieces in batches(pattern.pieces(sizes.length, sizes.length, sizes.causal)):
        rows, width, together = _height(pieces[0]), _width(pieces[0]), len(pieces)
        copies = _copies(pieces, ordered)
        stacked = together * (copies.queries * rows + copies.keys * width) * number
        own = together * heads * rows * (sizes.dim * sizes.number + EXACT)
        seen = rows * width * (1 + sizes.number)  # True and False, and as numbers
        blocks = sizes.threads * flash_block(sizes, rows, width)
        highest = max(highest, done + PLACE * sizes.length + stacked + own + seen + blocks)
        done += together * rows * number
    return highest


def _formula(pattern: Pattern, *, ordered: bool = False) -> Formula:
    return Formula(partial(_flops, pattern), inputs_traffic, partial(_peak, pattern, ordered))


WINDOW = _formula(Window(WIDTH))
LONGFORMER = _formula(Longformer(Window(WIDTH), GLOBALS))
BLOCK_SPARSE = _formula(BlockSparse(SIZE, 3, 1, SEED))
SWIN = _formula(Swin(SIDE, 0), ordered=True)
SWIN_SHIFTED = _formula(Swin(SIDE, SIDE // 2), ordered=True)
