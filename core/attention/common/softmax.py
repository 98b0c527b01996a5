"""Softmax over the scores of a query: the weights of every exact mechanism.

Source: Vaswani et al. 2017, equation 1, https://arxiv.org/abs/1706.03762
"""

from functools import partial

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import Mask
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.visibility import hide_ahead, hide_masked, merged, zero_fully_masked


def softmax_weights(inputs: AttentionInputs) -> Float[Tensor, "batch head q k"]:
    """softmax(scale q k^T) over the allowed keys, in float32 at least.

    Every row sums to 1; one whose keys are all masked is all zeros.
    """
    key = expand_kv_heads(inputs.key, inputs.query.shape[1])
    # The query is scaled, not the scores: one pass over q x dim instead of q x k numbers.
    scores = (inputs.query.to(inputs.exact) * inputs.scale) @ key.to(inputs.exact).mT
    if inputs.is_causal and inputs.positions is not None:
        return masked_softmax(scores, inputs.limits(), is_causal=False)
    return masked_softmax(scores, inputs.mask, inputs.is_causal)


def masked_softmax(
    scores: Float[Tensor, "batch head q k"], mask: Mask | None, is_causal: bool
) -> Float[Tensor, "batch head q k"]:
    """Softmax over the keys that are allowed; a row with no allowed key is all zeros, not NaN.

    Writes into `scores`, which the caller has just made. Scores that are NaN stay NaN: a broken
    model shall not look like a masked one.
    """
    if mask is None:
        return (hide_ahead(scores) if is_causal else scores).softmax(dim=-1)
    mask = merged(mask, is_causal, *scores.shape[-2:])
    return zero_fully_masked(partial(_softmax_under, scores), mask, check_first=True)


def _softmax_under(scores: Tensor, mask: Mask) -> Tensor:
    return hide_masked(scores, mask).softmax(dim=-1)


def averaged_values(
    weights: Float[Tensor, "batch head q k"], inputs: AttentionInputs
) -> Float[Tensor, "batch head q value_dim"]:
    """The values, averaged by weights; dropout falls on the weights."""
    if inputs.dropout_p > 0:
        weights = F.dropout(weights, inputs.dropout_p)
    value = expand_kv_heads(inputs.value, inputs.query.shape[1])
    return (weights @ value.to(weights.dtype)).to(inputs.query.dtype)
