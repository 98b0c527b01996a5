"""Maps: what a head attends to, rebuilt exactly from a recorded call, on demand.

Pure functions on one AttentionCall, float32 out. Nothing larger than what is asked for is held: a
row costs one row, a pooled picture of N x N positions is made block by block. Attention inside
windows is stitched: a map is that of the full picture, and exactly 0 outside a query's window.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from core.capture.trace import AttentionCall
from core.capture.weights import allowed_rows, window_weights
from core.maps.blocks import check_index, head_rows, map_blocks, pool


def row(call: AttentionCall, head: int, q: int, batch: int = 0) -> Float[Tensor, " k"]:
    """What query q attends to; sums to 1, or to 0 where no key is allowed."""
    check_index(call, head, batch, q=q)
    return head_rows(call, head, slice(q, q + 1), batch)[0]


def column(call: AttentionCall, head: int, k: int, batch: int = 0) -> Float[Tensor, " q"]:
    """How much every query attends to key k. Each row needs all its keys, so this costs a map.

    Inside windows it costs the map of one window: no query of another attends to k.
    """
    check_index(call, head, batch, k=k)
    if call.windows is not None:
        window, slot = call.windows.place(k)
        weights = window_weights(call, slice(head, head + 1), [window], batch)[0, 0]
        column = weights.new_zeros(call.queries)
        column[call.windows.order[window]] = weights[:, slot]
        return column
    return torch.cat([block[:, k] for block in map_blocks(call, head, batch)])


def head_map(call: AttentionCall, head: int, batch: int = 0) -> Float[Tensor, "q k"]:
    """The full map of a head: a row for each query, a column for each key."""
    check_index(call, head, batch)
    weights = call.query.new_zeros(call.queries, call.keys, dtype=torch.float32)
    for _ in map_blocks(call, head, batch, into=weights):
        pass
    return weights


def tile(
    call: AttentionCall,
    head: int,
    q_range: tuple[int, int],
    k_range: tuple[int, int],
    batch: int = 0,
) -> Float[Tensor, "q k"]:
    """The part of a map with queries and keys in two half-open ranges."""
    check_index(call, head, batch, q=q_range[1] - 1, k=k_range[1] - 1)
    blocks = map_blocks(call, head, batch, queries=range(*q_range))
    return torch.cat([block[:, slice(*k_range)] for block in blocks])


def pooled(
    call: AttentionCall,
    head: int,
    size: int,
    reduce: Literal["max", "mean"] = "max",
    batch: int = 0,
    *,
    q_range: tuple[int, int] | None = None,
    k_range: tuple[int, int] | None = None,
) -> Float[Tensor, "q_cell k_cell"]:
    """A head's map, or the part in two half-open ranges, in at most size x size cells.

    Each cell holds the largest or the mean weight of its part.
    """
    queries = range(*(q_range or (0, call.queries)))
    keys = slice(*(k_range or (0, call.keys)))
    check_index(call, head, batch, q=queries.stop - 1, k=keys.stop - 1)
    q_cell, k_cell = (-(-n // size) for n in (len(queries), keys.stop - keys.start))
    blocks = map_blocks(call, head, batch, queries=queries, multiple=q_cell)
    return torch.cat([pool(block[:, keys], q_cell, k_cell, reduce) for block in blocks])


def mosaic(
    calls: Sequence[AttentionCall],
    size: int,
    reduce: Literal["max", "mean"] = "max",
    batch: int = 0,
) -> Float[Tensor, "layer head q_cell k_cell"]:
    """Every head of calls of one shape, each pooled to at most size x size cells."""
    return _every_head(calls, lambda call, head: pooled(call, head, size, reduce, batch))


def rows(calls: Sequence[AttentionCall], q: int, batch: int = 0) -> Float[Tensor, "layer head k"]:
    """What query q attends to in every head."""
    return _every_head(calls, lambda call, head: row(call, head, q, batch))


def columns(
    calls: Sequence[AttentionCall], k: int, batch: int = 0
) -> Float[Tensor, "layer head q"]:
    """How much every query attends to key k, in every head."""
    return _every_head(calls, lambda call, head: column(call, head, k, batch))


def allowed_cells(call: AttentionCall, head: int, batch: int = 0) -> Bool[Tensor, "q k"]:
    """True where a query may attend to a key; a row that is all False has no allowed key."""
    check_index(call, head, batch)
    return allowed_rows(call, head, slice(None), batch).cpu()


def _every_head(
    calls: Sequence[AttentionCall], of_head: Callable[[AttentionCall, int], Tensor]
) -> Tensor:
    return torch.stack(
        [torch.stack([of_head(call, head) for head in range(call.heads)]) for call in calls]
    )
