"""Formulas of the mechanisms that add keys up: linear and favor."""

from collections.abc import Iterator
from typing import NamedTuple

from core.attention.common.random_features import num_features
from core.attention.common.separable import SeparableMask
from core.bench.formulas.sizes import EXACT, Formula, Sizes, inputs_traffic


def _block_rows(sizes: Sizes, width: int) -> int:
    mask = SeparableMask(None, 0 if sizes.causal else None)
    return min(mask.rows(sizes.batch * sizes.heads, width), sizes.length)


def _separable_flops(sizes: Sizes, features: int, block: int) -> float:
    """The sums over keys and their reading; a causal block also makes its own weights."""
    wide = sizes.dim + 1
    within = block * (features + wide) if sizes.causal else 0
    return 2.0 * sizes.rows * (2 * features * wide + within)


def _linear_flops(sizes: Sizes) -> float:
    return _separable_flops(sizes, sizes.dim, _block_rows(sizes, sizes.dim))


def _linear_peak(sizes: Sizes) -> float:
    """The output, and for the heads that are taken together their states and a block."""
    mask = SeparableMask(None, 0 if sizes.causal else None)
    heads = sizes.batch * mask.together(sizes.heads, sizes.batch * sizes.length * sizes.dim)
    rows = min(mask.rows(heads, sizes.dim), sizes.length)
    sums, dim = EXACT * sizes.dim * (sizes.dim + 1), sizes.dim
    if sizes.causal:
        # Features and answers of queries, keys, and the block's weights; then the new answers, or
        # the sums after the block.
        both = 3 * dim + rows + 1
        block = max(rows * EXACT * (both + dim), rows * EXACT * (both + 1) + sums)
    else:
        # Features, what they find and what that is divided by; or the steps of the feature map; or
        # the sums before and after the block beside its features.
        steps = dim * (3 if sizes.number < EXACT else 2)
        block = max(rows * EXACT * max(2 * dim + 2, steps), rows * EXACT * dim + sums)
    return sizes.output + heads * float(sums + block)


def _favor_flops(sizes: Sizes) -> float:
    features = num_features(sizes.dim)
    projections = 4.0 * sizes.rows * sizes.dim * features
    return projections + _separable_flops(sizes, features, _block_rows(sizes, features))


def _favor_peak(sizes: Sizes) -> float:
    """The largest of its moments: adding keys up, reading queries, joining the blocks."""
    heads = sizes.batch * sizes.heads
    moments = _causal_moments(sizes) if sizes.causal else (*_key_moments(sizes), *_moments(sizes))
    hidden = heads * sizes.length  # bytes that tell which rows have no key
    return float(max(2 * sizes.output, EXACT * heads * max(moments) + hidden))


class _Blocks(NamedTuple):
    """How favor cuts its rows, in numbers of one head."""

    features: int
    wide: int  # value and the sum of the weights
    rows: int  # of a block
    first: int
    last: int
    count: int  # of blocks

    @property
    def state(self) -> int:
        """The sums over the keys."""
        return self.features * self.wide


def _favor_blocks(sizes: Sizes) -> _Blocks:
    features = num_features(sizes.dim)
    rows = _block_rows(sizes, features)
    count = -(-sizes.length // rows)
    last = sizes.length - rows * (count - 1)
    return _Blocks(features, sizes.dim + 1, rows, min(rows, sizes.length), last, count)


def _key_moments(sizes: Sizes) -> Iterator[float]:
    """Adding a block of keys up: old and new state beside it; or the next block's features."""
    cut = _favor_blocks(sizes)
    yield cut.first * (cut.features + cut.wide) + 2 * cut.state
    if cut.count > 1:
        second = min(cut.rows, sizes.length - cut.rows)
        cast = sizes.dim if sizes.number < EXACT else 0
        making = second * (cut.features + sizes.dim + 1 + cast)
        yield cut.rows * cut.features + making + cut.state


def _moments(sizes: Sizes) -> Iterator[float]:
    """Reading a block of queries, with the last keys' features, earlier outputs and sums."""
    cut = _favor_blocks(sizes)
    for index in {0, max(cut.count - 2, 0), cut.count - 1}:
        rows = cut.last if index == cut.count - 1 else cut.rows
        done = index * cut.rows * sizes.dim * sizes.number / EXACT
        before = cut.rows * cut.wide if index else 0
        own = (cut.last + rows) * cut.features + rows * cut.wide
        yield done + before + own + cut.state


def _causal_moments(sizes: Sizes) -> Iterator[float]:
    """Reading a block: its weights and three states, of before, with its maxima, with its keys."""
    cut = _favor_blocks(sizes)
    for index in {0, max(cut.count - 2, 0), cut.count - 1}:
        rows = cut.last if index == cut.count - 1 else cut.rows
        done = index * cut.rows * sizes.dim * sizes.number / EXACT
        before = cut.rows * cut.wide if index else 0
        both = 2 * rows * cut.features + rows * rows + rows * cut.wide
        answered = max(2 * rows * cut.wide + 2 * cut.state, rows * cut.wide + 3 * cut.state)
        yield done + before + both + answered


LINEAR = Formula(_linear_flops, inputs_traffic, _linear_peak)
FAVOR = Formula(_favor_flops, inputs_traffic, _favor_peak)
