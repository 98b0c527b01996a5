"""Visibility: may a query attend to a key? Mechanisms, records and maps all ask here.

Two things hide a key: a mask (see `core.attention.common.masks`) and causality. Causality is
top-left everywhere: the query at position i attends to the keys 0 to i.
"""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.attention.common.masks import Mask, allowed, causal_mask

Positions = Int[Tensor, "*#pairs"]  # of queries `... q 1`, of keys `... 1 k`: they broadcast
Pairs = Bool[Tensor, "*#pairs"]
Scores = Float[Tensor, "*batch q k"]


def causal(queries: Positions, keys: Positions) -> Pairs:
    """True where causality lets a query attend to a key, both by position."""
    return keys <= queries


def keys_in_reach(queries: slice, k: int, is_causal: bool) -> int:
    """How many of the first keys any of these queries may attend to, whatever a mask hides."""
    return min(queries.stop, k) if is_causal else k


def hide_ahead(scores: Scores, first_query: int = 0, first_key: int = 0) -> Scores:
    """The scores, minus infinity where a key lies ahead of its query; written in place.

    The rows are queries from `first_query` on, the columns keys from `first_key` on. Keys up to
    the first query's own are ahead of none, and are not touched.
    """
    behind = max(first_query - first_key, 0)
    if behind >= scores.shape[-1]:
        return scores
    square = scores[..., behind:] if behind else scores
    ahead = torch.ones(square.shape[-2:], dtype=torch.bool, device=scores.device)
    ahead = ahead.triu_(first_query - first_key - behind + 1)
    square.masked_fill_(ahead, -torch.inf)
    return scores


def hide_masked(scores: Scores, mask: Mask) -> Scores:
    """The scores under a mask that forbids with False or minus infinity; written in place."""
    if mask.dtype == torch.bool:
        return scores.masked_fill_(~mask, -torch.inf)
    return scores.add_(mask)


def limited(mask: Mask | None, visible: Pairs | None = None) -> Mask | None:
    """A mask, and nothing beyond what is visible: it forbids with False or minus infinity.

    Its axes are still to be broadcast. None where both are.
    """
    if mask is None:
        return visible
    if mask.dtype == torch.bool:
        return mask if visible is None else mask & visible
    may = allowed(mask) if visible is None else allowed(mask) & visible
    return mask.masked_fill(~may, -torch.inf)


def merged(mask: Mask | None, is_causal: bool, q: int, k: int) -> Mask | None:
    """The mask and causality as one mask that forbids with False or minus infinity.

    None where every query may attend to every key, or where `is_causal` says it all.
    """
    if mask is None:
        return None
    return limited(mask, causal_mask(q, k, device=mask.device) if is_causal else None)


def part_of(mask: Mask, queries: slice, keys: slice = slice(None)) -> Mask:
    """The mask of some queries and keys; an axis that is only repeated stays 1."""
    mask = mask if mask.shape[-2] == 1 else mask[..., queries, :]
    return mask if mask.shape[-1] == 1 else mask[..., keys]


def as_bias(mask: Mask, dtype: torch.dtype) -> Float[Tensor, "..."]:
    """The mask as numbers that are added to the scores."""
    if mask.dtype == torch.bool:
        return torch.zeros_like(mask, dtype=dtype).masked_fill_(~mask, -torch.inf)
    return mask.to(dtype)


def zero_fully_masked(kernel: Callable[[Mask], Tensor], mask: Mask, *, check_first: bool) -> Tensor:
    """What a kernel gives under a mask, and zeros for a query that has no allowed key.

    Kernels differ there (zeros or NaN), so none gets to see such a query: it may attend to every
    key, and its output and gradient are put to zero.

    Args:
        kernel: takes the mask.
        mask: forbids with False or minus infinity; its last axis is that of the keys.
        check_first: leave out the work where there is no such query. Waits for the device, and can
            neither be compiled nor mapped by `torch.func.vmap`.
    """
    fully_masked = ~allowed(mask).any(dim=-1, keepdim=True)
    if check_first and not bool(fully_masked.any()):
        return kernel(mask)
    opened = mask.masked_fill(fully_masked, 1 if mask.dtype == torch.bool else 0)
    # Not in place: the gradient of softmax needs its result as it was.
    return kernel(opened).masked_fill(fully_masked, 0)
