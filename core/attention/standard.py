"""Standard attention: every score is computed and kept. The mechanism the others are compared with.

Source: Vaswani et al. 2017, equation 1, https://arxiv.org/abs/1706.03762
"""

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention.common.masks import Mask, masked_softmax
from core.attention.common.mechanism import Mechanism
from core.attention.common.shapes import exact_dtype, expand_kv_heads


def weights(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "batch head q k"]:
    """softmax(scale q k^T): how much each query looks at each key; every row sums to 1.

    In float32 at least. A row whose keys are all masked is all zeros.

    Raises:
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    exact = exact_dtype(query.dtype)
    key = expand_kv_heads(key, query.shape[1])
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    # The query is scaled, not the scores: one pass over q x dim instead of q x k numbers.
    scores = (query.to(exact) * scale) @ key.to(exact).transpose(-2, -1)
    return masked_softmax(scores, mask, is_causal)


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
    """The values, averaged by `weights`; dropout falls on the weights.

    Raises:
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    looks = weights(query, key, mask=mask, is_causal=is_causal, scale=scale)
    if dropout_p > 0:
        looks = F.dropout(looks, dropout_p)
    value = expand_kv_heads(value, query.shape[1]).to(looks.dtype)
    return (looks @ value).to(query.dtype)


STANDARD = Mechanism(
    name="standard",
    title="Standard",
    source="Vaswani et al. 2017, https://arxiv.org/abs/1706.03762",
    exact=True,
    cost="time and memory grow as N x N",
    attend=attend,
    weights=weights,
)
