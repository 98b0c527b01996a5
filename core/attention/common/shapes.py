"""Shapes: grouped queries, and the axes every mechanism agrees on."""

import torch
from jaxtyping import Float
from torch import Tensor


def group_size(heads: int, kv_heads: int) -> int:
    """How many query heads share one key head.

    Raises:
        ValueError: if kv_head does not divide head.
    """
    if heads % kv_heads:
        raise ValueError(f"kv_head must divide head: {heads} query and {kv_heads} key heads came")
    return heads // kv_heads


def expand_kv_heads(
    key: Float[Tensor, "batch kv_head k dim"], heads: int
) -> Float[Tensor, "batch head k dim"]:
    """Repeat each key head for the query heads that share it: head h reads kv head h // group.

    Raises:
        ValueError: if kv_head does not divide head.
    """
    group = group_size(heads, key.shape[1])
    return key if group == 1 else key.repeat_interleave(group, dim=1)


def exact_dtype(dtype: torch.dtype) -> torch.dtype:
    """The type in which sums are taken: float32 at least (bfloat16 rows do not sum to 1)."""
    return torch.promote_types(dtype, torch.float32)
