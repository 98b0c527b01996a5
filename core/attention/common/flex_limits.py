"""Limits of FlexAttention: a mask of ours as FlexAttention wants to hear it.

Source: Dong et al. 2024, sections 3 and 4, https://arxiv.org/abs/2412.05496

It wants two things: which blocks of queries and keys hold a visible pair at all, and a function
that says of one pair whether it is visible or what is added to its score. These functions are
lambdas: PyTorch's compiler follows no function that a checker of types has wrapped.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Int, Shaped
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask

from core.attention.common.masks import Mask, allowed

BLOCK = 128  # positions of a block, of queries and of keys: the kernels' own
# Powers of two from which masks and their offsets on: one kernel serves all that are shorter.
LEAST_FLAT, LEAST_OFFSETS = 16, 10

Blocks = Bool[Tensor, "#batch #head q_block k_block"]
OfPair = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]  # of batch, head, query and key
Shape = tuple[int, int, int, int]  # batch, head, q, k


class Limits(NamedTuple):
    """What a call of FlexAttention is told, by its own names."""

    block_mask: BlockMask
    score_mod: Callable[..., Tensor] | None


def limits(mask: Mask | None, is_causal: bool, shape: Shape, device: torch.device) -> Limits:
    """A mask and causality (top-left) as blocks, and what is added to a score."""
    before = _blocks_before(*shape[2:], device)
    if mask is None:  # without a list of blocks the CPU's kernel would take q x k as one block
        blocks = before if is_causal else _Found(*map(torch.ones_like, before))
        pairs = (lambda batch, head, q, k: k <= q) if is_causal else None
        return Limits(_block_mask(blocks, pairs, shape), None)
    mask = mask[(None,) * (4 - mask.ndim)]
    visible = allowed(mask)
    found, pairs = _blocks_of(visible, *shape[2:]), _looked_up(visible, shape)
    if is_causal:
        found = _Found(found.some & before.some, found.all_of & before.all_of)
        of_mask = pairs
        pairs = lambda batch, head, q, k: of_mask(batch, head, q, k) & (k <= q)  # noqa: E731
    block_mask = _block_mask(found, pairs, shape)
    if mask.dtype == torch.bool:
        return Limits(block_mask, None)
    # float32: kernels written for a float64 mask gave NaN.
    added = _looked_up(mask.masked_fill(~visible, 0).float(), shape)
    return Limits(block_mask, lambda score, *place: score + added(*place))


class _Found(NamedTuple):
    some: Blocks  # some of the block's pairs are visible
    all_of: Blocks  # all of them are


def _looked_up(mask: Shaped[Tensor, "#batch #head #q #k"], shape: Shape) -> OfPair:
    """What the mask holds for a pair, found by offsets on one axis.

    PyTorch's CPU kernels cannot be compiled for masks whose sizes may change: both tensors are as
    long as a power of two, and those sizes stand fast.
    """
    strides = mask.contiguous().expand(shape).stride()
    steps = torch.arange(1 << max(LEAST_OFFSETS, (max(shape) - 1).bit_length()), device=mask.device)
    offsets = steps[:, None] * torch.tensor(strides, device=mask.device)
    size = 1 << max(LEAST_FLAT, (mask.numel() - 1).bit_length())
    flat = F.pad(mask.flatten(), (0, size - mask.numel()))
    torch._dynamo.mark_static(flat)
    torch._dynamo.mark_static(offsets)
    return lambda batch, head, q, k: flat[
        offsets[batch, 0] + offsets[head, 1] + offsets[q, 2] + offsets[k, 3]
    ]


def _blocks_of(visible: Bool[Tensor, "#batch #head #q #k"], q: int, k: int) -> _Found:
    """The blocks of a mask. An axis of 1 is only repeated: a mask of keys never becomes q x k."""
    some, all_of = visible, visible
    for axis, length in ((-1, k), (-2, q)):
        some, all_of = (each.transpose(axis, -1) for each in (some, all_of))
        count = -(-length // BLOCK)
        if some.shape[-1] == 1:
            some, all_of = (each.expand(*each.shape[:-1], count) for each in (some, all_of))
        else:
            missing = (0, count * BLOCK - length)
            some = F.pad(some, missing, value=False).unflatten(-1, (count, BLOCK)).any(dim=-1)
            all_of = F.pad(all_of, missing, value=True).unflatten(-1, (count, BLOCK)).all(dim=-1)
        some, all_of = (each.transpose(axis, -1) for each in (some, all_of))
    return _Found(some, all_of)


def _blocks_before(q: int, k: int, device: torch.device) -> _Found:
    """The blocks of a causal mask, top-left, from their borders alone."""
    queries = torch.arange(0, q, BLOCK, device=device)[:, None]
    keys = torch.arange(0, k, BLOCK, device=device)
    some = keys <= (queries + BLOCK - 1).clamp(max=q - 1)
    all_of = (keys + BLOCK - 1).clamp(max=k - 1) <= queries
    return _Found(some[None, None], all_of[None, None])


def _block_mask(found: _Found, pairs: OfPair | None, shape: Shape) -> BlockMask:
    """Which blocks are computed: pair by pair, or as a whole; the others are skipped."""
    partly, wholly = _listed(found.some & ~found.all_of), _listed(found.all_of)
    return BlockMask.from_kv_blocks(*partly, *wholly, BLOCK, pairs, shape[2:])


def _listed(
    blocks: Blocks,
) -> tuple[Int[Tensor, "#batch #head q_block"], Int[Tensor, "#batch #head q_block k_block"]]:
    """How many blocks of keys a block of queries has, and which: those first, the rest after."""
    order = blocks.to(torch.int8).argsort(dim=-1, descending=True, stable=True)
    return blocks.sum(dim=-1, dtype=torch.int32), order.to(torch.int32).contiguous()
