"""Chunked attention: softmax attention with a running log-sum-exp, and no N x N matrix ever kept.

Source: Rabe and Staats 2021, sections 2 and 3, https://arxiv.org/abs/2112.05682

What flash kernels do, written with ordinary operations: it runs on every device, in every
precision and with every mask. A chunk of queries passes over the keys chunk by chunk, and keeps the
largest score, the sum of the exponentials below it, and the sum of the values that they weigh.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import blocks
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.softmax import softmax_weights
from core.attention.common.visibility import (
    hide_ahead,
    hide_masked,
    keys_in_reach,
    limited,
    part_of,
)
from core.attention.linear import normalised

QUERIES, KEYS = 256, 2048  # of a chunk, 2 MB a head: the cores meet after every step on one
LOWEST = -1e30  # finite: minus infinity less this is minus infinity, not NaN


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """`weights @ v` without the weights: a chunk of queries and a chunk of keys at a time.

    Where gradients are wanted, each chunk of queries is computed again on the way back.
    """
    query, key, value = inputs.query, inputs.key, inputs.value
    outputs = [query.new_zeros(*query.shape[:2], 0, value.shape[-1])]
    for queries in blocks(query.shape[2], QUERIES):
        chunk = (query[:, :, queries], key, value, inputs, queries)
        if torch.is_grad_enabled():
            outputs.append(checkpoint(_over_keys, *chunk, use_reentrant=False))
        else:
            outputs.append(_over_keys(*chunk))
    return torch.cat(outputs, dim=2)


def _over_keys(
    query: Float[Tensor, "batch head rows dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    inputs: AttentionInputs,
    queries: slice,
) -> Float[Tensor, "batch head rows value_dim"]:
    """The output of one chunk of queries after a pass over the keys that it may attend to."""
    heads, exact = query.shape[1], inputs.exact
    scaled = query.to(exact) * inputs.scale
    top = scaled.new_full((*query.shape[:3], 1), LOWEST)
    # The last column is the sum of the exponentials: the value of every key has a 1 there.
    sums = scaled.new_zeros(*query.shape[:3], value.shape[-1] + 1)
    for keys in blocks(keys_in_reach(queries, key.shape[2], inputs.is_causal), KEYS):
        own = expand_kv_heads(key[:, :, keys], heads).to(exact)
        scores = _limited_scores(scaled @ own.mT, inputs, queries, keys)
        # Maxima cancel in the quotient, so no gradient needs to run through them.
        higher = torch.maximum(top, scores.detach().amax(dim=-1, keepdim=True))
        values = F.pad(expand_kv_heads(value[:, :, keys], heads).to(exact), (0, 1), value=1.0)
        sums = sums * (top - higher).exp() + scores.sub_(higher).exp_() @ values
        top = higher
    return normalised(sums[..., :-1], sums[..., -1:]).to(query.dtype)


def _limited_scores(
    scores: Float[Tensor, "batch head rows columns"],
    inputs: AttentionInputs,
    queries: slice,
    keys: slice,
) -> Float[Tensor, "batch head rows columns"]:
    """The scores of a chunk, minus infinity where a query may not attend; written in place."""
    if inputs.mask is not None:
        scores = hide_masked(scores, limited(part_of(inputs.mask, queries, keys)))
    return hide_ahead(scores, queries.start, keys.start) if inputs.is_causal else scores


CHUNKED = Mechanism(
    name="chunked",
    title="Chunked",
    source="Rabe and Staats 2021, https://arxiv.org/abs/2112.05682",
    exact=True,
    cost="time grows as N x N, memory as N",
    attend_kernel=attend,
    weights_kernel=softmax_weights,
    has_dropout=False,
)
