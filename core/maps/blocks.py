"""Blocks: some rows of a head's map at a time, so that no map need ever be held in full."""

from collections.abc import Callable, Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.attention import MECHANISMS
from core.attention.common.softmax import masked_softmax
from core.attention.common.visibility import hide_ahead, keys_in_reach, part_of
from core.capture.trace import AttentionCall
from core.capture.weights import BLOCK_CELLS, mask_rows, stitched, weights_of


def check_index(call: AttentionCall, head: int, batch: int, q: int = 0, k: int = 0) -> None:
    """Refuse an index that the call does not have."""
    for name, index, size in (
        ("head", head, call.heads),
        ("batch", batch, call.batch),
        ("q", q, call.queries),
        ("k", k, call.keys),
    ):
        if not 0 <= index < size:
            raise ValueError(f"{name} from 0 to {size - 1} was wanted; {index} came")


def head_rows(call: AttentionCall, head: int, queries: slice, batch: int) -> Float[Tensor, "q k"]:
    """Some rows of one head."""
    return weights_of(call, slice(head, head + 1), queries, batch)[0]


def map_blocks(
    call: AttentionCall,
    head: int,
    batch: int,
    *,
    queries: range | None = None,
    multiple: int = 1,
    into: Tensor | None = None,
) -> Iterator[Float[Tensor, "q k"]]:
    """The map of a head in blocks of rows, each a multiple of so many rows (but the last).

    Written into `into`, a zeroed map, where there is one.
    """
    queries = range(call.queries) if queries is None else queries
    size = max(BLOCK_CELLS // call.keys // multiple, 1) * multiple
    recorded = call.model_weights is None and call.windows is None
    exact = recorded and MECHANISMS[call.mechanism or "standard"].exact
    block = _exact_blocks(call, head, batch) if exact else None
    for start in range(queries.start, queries.stop, size):
        part = slice(start, min(start + size, queries.stop))
        out = None if into is None else into[part]
        if block is not None:
            yield block(part, out)
        elif call.windows is not None:
            into_head = None if out is None else out[None]
            yield stitched(call, slice(head, head + 1), part, batch, into_head)[0]
        else:
            weights = head_rows(call, head, part, batch)
            yield weights if out is None else out.copy_(weights)


def _exact_blocks(
    call: AttentionCall, head: int, batch: int
) -> Callable[[slice, Tensor | None], Float[Tensor, "q k"]]:
    """A function that makes rows of softmax attention; what all rows share is done once here."""
    query = call.query[batch, head].float() * call.scale
    key = call.key[batch, call.kv_head(head)].float().T
    k = key.shape[1]

    def block(part: slice, out: Tensor | None) -> Tensor:
        if out is None:
            out = query.new_zeros(part.stop - part.start, k)
        # Where attention is causal, half of the work falls away.
        reach = keys_in_reach(part, k, call.is_causal)
        scores = query[part] @ key[:, :reach]
        if call.mask is not None:
            mask = mask_rows(call, slice(head, head + 1), part, slice(batch, batch + 1))
            mask = part_of(mask, slice(None), slice(reach))
            out[:, :reach] = masked_softmax(scores[None, None], mask, is_causal=False)[0, 0]
            return out
        if call.is_causal:
            hide_ahead(scores, first_query=part.start)
        torch.softmax(scores, dim=-1, out=out[:, :reach])
        return out

    return block


def pool(
    weights: Float[Tensor, "q k"], q_cell: int, k_cell: int, reduce: Literal["max", "mean"]
) -> Float[Tensor, "q_cell k_cell"]:
    """Cells of q_cell x k_cell weights; the last ones may be smaller."""
    if q_cell == k_cell == 1:
        return weights
    q, k = weights.shape
    padded = F.pad(weights, (0, -k % k_cell, 0, -q % q_cell))
    # Rows first: reducing along whole rows is vectorised, reducing tiny cells at once is not.
    split = padded.unflatten(0, (-1, q_cell))
    if reduce == "max":
        return split.amax(dim=1).unflatten(1, (-1, k_cell)).amax(dim=2)
    sums = split.sum(dim=1).unflatten(1, (-1, k_cell)).sum(dim=2)
    counts = [
        torch.arange(n, device=weights.device).div(cell, rounding_mode="floor").bincount()
        for n, cell in ((q, q_cell), (k, k_cell))
    ]
    return sums / (counts[0][:, None] * counts[1])
