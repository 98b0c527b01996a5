"""Formulas of the mechanisms that compute every pair: standard, flash and its kin, and topk."""

from core.attention.chunked import KEYS, QUERIES
from core.attention.common.flex_limits import BLOCK
from core.attention.topk import TOP_K
from core.bench.formulas.sizes import EXACT, Formula, Sizes, inputs_traffic

# Blocks of PyTorch's CPU flash kernel: rows of queries from so many queries on, and rows of keys.
FLASH_QUERY_ROWS = ((768, 256), (192, 64), (1, 32))
FLASH_KEY_ROWS = 512
PLACE = 8  # bytes of an index


def _standard_flops(sizes: Sizes) -> float:
    # Causal or not: hidden scores are computed, then put out of sight.
    return 4.0 * sizes.rows * sizes.length * sizes.dim


def _standard_traffic(sizes: Sizes) -> float:
    # Scores are written, read and turned into weights, which are read for the product.
    return 4.0 * sizes.output + 4.0 * EXACT * sizes.rows * sizes.length


def _standard_peak(sizes: Sizes) -> float:
    # Scores and weights at the same time, or weights and output; and what is ahead of its query.
    hidden = sizes.length**2 if sizes.causal else 0
    scores = float(EXACT * sizes.rows * sizes.length)
    return scores + max(scores, sizes.output) + hidden


def _flash_flops(sizes: Sizes) -> float:
    return 4.0 * sizes.pairs * sizes.dim


def _flash_peak(sizes: Sizes) -> float:
    """Output, the logarithm of every row's sum, and on a CPU a block for each thread."""
    held = float(sizes.output + EXACT * sizes.rows)
    if not sizes.on_cpu:
        return held
    return held + sizes.threads * flash_block(sizes, sizes.length, sizes.length)


def flash_block(sizes: Sizes, queries: int, keys: int) -> int:
    """Bytes that one thread of the CPU's flash kernel works in."""
    query_rows = next(rows for least, rows in FLASH_QUERY_ROWS if queries >= least)
    query_rows, key_rows = min(query_rows, queries), min(FLASH_KEY_ROWS, keys)
    block = EXACT * query_rows * (key_rows + 2 + sizes.dim)
    halved = sizes.number * query_rows * key_rows if sizes.number < EXACT else 0
    return block + halved


def _flex_flops(sizes: Sizes) -> float:
    # Blocks on the diagonal are computed whole, and half of their pairs hidden.
    if not sizes.causal:
        return _flash_flops(sizes)
    starts = range(0, sizes.length, BLOCK)
    stops = (min(start + BLOCK, sizes.length) for start in starts)
    pairs = sum((stop - start) * stop for start, stop in zip(starts, stops, strict=True))
    return 4.0 * sizes.batch * sizes.heads * pairs * sizes.dim


def _flex_peak(sizes: Sizes) -> float:
    """Output, room for k and v laid out anew, and on a CPU a block for each thread."""
    if not sizes.on_cpu:
        return _flash_peak(sizes)
    side = min(BLOCK, sizes.length)
    sums = EXACT * side * (side + 2 + sizes.dim)
    laid_out = sizes.number * side * (side + 2 * sizes.dim)
    return 3.0 * sizes.output + sizes.threads * float(sums + laid_out)


def _chunked_flops(sizes: Sizes) -> float:
    # A chunk of queries passes over whole chunks of keys, but for those that are ahead of it.
    pairs = 0
    for start in range(0, sizes.length, QUERIES):
        stop = min(start + QUERIES, sizes.length)
        pairs += (stop - start) * (stop if sizes.causal else sizes.length)
    return 2.0 * sizes.batch * sizes.heads * pairs * (2 * sizes.dim + 1)


def _chunked_peak(sizes: Sizes) -> float:
    """The larger of two moments: the last pass over the keys, or the joining of the outputs."""
    rows, keys = min(QUERIES, sizes.length), min(KEYS, sizes.length)
    heads, wide = sizes.batch * sizes.heads, sizes.dim + 1
    # The scores of the chunk before are still there; with one chunk, the sums' own steps show.
    more = rows * keys if sizes.length > KEYS else 3 * rows * wide
    passing = rows * keys + rows * (sizes.dim + wide) + keys * wide + more
    cast = keys * sizes.dim if sizes.number < EXACT else 0
    done = sizes.output * (1 - rows / sizes.length)
    return max(2.0 * sizes.output, done + EXACT * heads * (passing + cast))


def _topk_peak(sizes: Sizes) -> float:
    """Weights, zeros to put the largest into, the result, and the largest with their places."""
    largest = sizes.rows * min(TOP_K, sizes.length) * (2 * EXACT + PLACE)
    return 3.0 * EXACT * sizes.rows * sizes.length + largest


STANDARD = Formula(_standard_flops, _standard_traffic, _standard_peak)
FLASH = Formula(_flash_flops, inputs_traffic, _flash_peak)
FLEX = Formula(_flex_flops, inputs_traffic, _flex_peak)
CHUNKED = Formula(_chunked_flops, inputs_traffic, _chunked_peak)
TOPK = Formula(_standard_flops, _standard_traffic, _topk_peak)
