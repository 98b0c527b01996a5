"""Chunked attention: softmax attention with a running log-sum-exp, and no N x N matrix ever kept.

Source: Rabe and Staats 2021, sections 2 and 3, https://arxiv.org/abs/2112.05682

What flash kernels do, written with ordinary operations: it runs on every device, in every
precision and with every mask. A chunk of queries passes over the keys chunk by chunk, and keeps the
largest score, the sum of the exponentials below it, and the sum of the values that they weigh.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from core.attention.common.masks import Mask, check_mask, merged
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import blocks, refuse_dropout
from core.attention.common.shapes import exact_dtype, expand_kv_heads, group_size
from core.attention.linear import normalised
from core.attention.standard import weights

QUERIES, KEYS = 256, 2048  # of a chunk, 2 MB a head: the cores meet after every step on one
LOWEST = -1e30  # finite: minus infinity less this is minus infinity, not NaN


@dataclass(frozen=True)
class _Limits:
    """What the caller allows: the mask, and causality (top-left)."""

    mask: Mask | None
    is_causal: bool

    def applied(
        self, scores: Float[Tensor, "batch head q k"], queries: slice, keys: slice
    ) -> Tensor:
        """The scores of a chunk, minus infinity where a query may not look; writes into them."""
        if self.mask is not None:
            mask = self.mask if self.mask.shape[-2] == 1 else self.mask[..., queries, :]
            mask = mask if mask.shape[-1] == 1 else mask[..., keys]
            bias = merged(mask, False, *scores.shape[-2:])
            if bias.dtype == torch.bool:
                scores = scores.masked_fill_(~bias, -torch.inf)
            else:
                scores = scores + bias
        if self.is_causal and keys.stop - 1 > queries.start:
            ahead = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device)
            ahead = ahead.triu_(queries.start - keys.start + 1)
            scores = scores.masked_fill_(ahead, -torch.inf)
        return scores


def attend(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> Float[Tensor, "batch head q value_dim"]:
    """`weights @ v` without the weights: a chunk of queries and a chunk of keys at a time.

    Where gradients are wanted, each chunk of queries is computed again on the way back.

    Raises:
        MechanismError: for dropout.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout("chunked", dropout_p)
    group_size(query.shape[1], key.shape[1])
    q, k = query.shape[2], key.shape[2]
    if mask is not None:
        check_mask(mask, (*query.shape[:3], k))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    limits = _Limits(mask, is_causal)
    outputs = [query.new_zeros(*query.shape[:2], 0, value.shape[-1])]
    for queries in blocks(q, QUERIES):
        inputs = (query[:, :, queries], key, value, limits, queries, scale)
        if torch.is_grad_enabled():
            outputs.append(checkpoint(_passed, *inputs, use_reentrant=False))
        else:
            outputs.append(_passed(*inputs))
    return torch.cat(outputs, dim=2)


def _passed(
    query: Float[Tensor, "batch head rows dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    limits: _Limits,
    queries: slice,
    scale: float,
) -> Float[Tensor, "batch head rows value_dim"]:
    """The output of one chunk of queries after a pass over the keys that it may look at."""
    heads, exact = query.shape[1], exact_dtype(query.dtype)
    looking = query.to(exact) * scale
    top = looking.new_full((*query.shape[:3], 1), LOWEST)
    # The last column is the sum of the exponentials: the value of every key has a 1 there.
    sums = looking.new_zeros(*query.shape[:3], value.shape[-1] + 1)
    seen = min(queries.stop, key.shape[2]) if limits.is_causal else key.shape[2]
    for keys in blocks(seen, KEYS):
        own = expand_kv_heads(key[:, :, keys], heads).to(exact)
        scores = limits.applied(looking @ own.mT, queries, keys)
        # Maxima cancel in the quotient, so no gradient needs to run through them.
        higher = torch.maximum(top, scores.detach().amax(dim=-1, keepdim=True))
        values = F.pad(expand_kv_heads(value[:, :, keys], heads).to(exact), (0, 1), value=1.0)
        sums = sums * (top - higher).exp() + scores.sub_(higher).exp_() @ values
        top = higher
    return normalised(sums[..., :-1], sums[..., -1:]).to(query.dtype)


CHUNKED = Mechanism(
    name="chunked",
    title="Chunked",
    source="Rabe and Staats 2021, https://arxiv.org/abs/2112.05682",
    exact=True,
    cost="time grows as N x N, memory as N",
    attend=attend,
    weights=weights,
    has_dropout=False,
)
