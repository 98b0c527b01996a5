"""Formulas of the mechanisms that add keys up: linear and favor."""

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
        # Features, what they find and what that is divided by; or the steps of the feature map.
        block = rows * EXACT * max(2 * dim + 2, dim * (3 if sizes.number < EXACT else 2))
    return sizes.output + heads * float(sums + block)


def _favor_flops(sizes: Sizes) -> float:
    features = num_features(sizes.dim)
    projections = 4.0 * sizes.rows * sizes.dim * features
    return projections + _separable_flops(sizes, features, _block_rows(sizes, features))


def _favor_peak(sizes: Sizes) -> float:
    """The larger of two moments: a block is being read, or the blocks are being joined."""
    features, heads = num_features(sizes.dim), sizes.batch * sizes.heads
    rows, wide = _block_rows(sizes, features), sizes.dim + 1
    cast = sizes.dim if sizes.number < EXACT else 0
    # Features of two blocks at a time: one and the next, or the only one's queries and keys.
    second = rows if rows == sizes.length else min(rows, sizes.length - rows)
    block, done = (rows + second) * features + rows * (wide + cast), 0
    if sizes.causal:  # features of its queries and of its keys, and the weights between them
        block, done = rows * (3 * features + 2 * wide + rows), sizes.output
    return max(2.0 * sizes.output, float(done + EXACT * heads * (features * wide + block)))


LINEAR = Formula(_linear_flops, inputs_traffic, _linear_peak)
FAVOR = Formula(_favor_flops, inputs_traffic, _favor_peak)
