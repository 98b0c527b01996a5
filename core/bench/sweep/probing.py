"""Probing: the map of a mechanism that gives no gradients, asked of it a few keys at a time.

Attention is linear in v: where a column of v is 1 at one key and 0 at all others, that column of
the output is the weight of that key. Only the rows that are compared are asked, so that all the
calls together cost about as much as one on all rows.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from core.attention.common.masks import Mask, allowed
from core.attention.common.mechanism import Attend
from core.attention.common.separable import blocks
from core.bench.sweep.accuracy import Heads, Rows, Shared, checked_rows


@torch.no_grad()
def probed_rows(
    attend: Attend,
    query: Heads,
    key: Shared,
    value: Shared,
    is_causal: bool,
    *,
    mask: Mask | None = None,
) -> Rows:
    """What a mechanism really did in some rows: output of the whole call, weights of those rows."""
    k, width = value.shape[2:]
    rows = torch.tensor(checked_rows(query.shape[2], width), device=query.device)
    output = attend(query, key, value, is_causal=is_causal)[:, :, rows]
    seen = _of_rows(mask, rows, k, is_causal)
    weights = []
    for keys in blocks(k, width):
        one = torch.zeros_like(value)
        places = torch.arange(keys.stop - keys.start, device=query.device)
        one[:, :, keys.start + places, places] = 1
        found = attend(query[:, :, rows], key, one, mask=seen)
        weights.append(found[..., : len(places)])
    return Rows(torch.cat(weights, dim=-1), output)


def _of_rows(mask: Mask | None, rows: Int[Tensor, " rows"], k: int, is_causal: bool) -> Mask | None:
    """The mask of these rows, causality (top-left) included."""
    if mask is not None and mask.shape[-2] > 1:
        mask = mask[..., rows, :]
    if not is_causal:
        return mask
    seen = torch.arange(k, device=rows.device) <= rows[:, None]
    if mask is None:
        return seen
    seen = seen & allowed(mask)
    return seen if mask.dtype == torch.bool else mask.masked_fill(~seen, -torch.inf)
