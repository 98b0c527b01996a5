"""Top-k attention: every score is computed, and the largest of each row are kept.

Source: Zhao et al. 2019, section 3, https://arxiv.org/abs/1912.11637

Which scores are large is known only once all are there, so nothing is saved; what changes is the
map. Softmax over the kept scores is their usual weights, divided by their sum.
"""

from functools import partial

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention import standard
from core.attention.common.masks import Mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.shapes import expand_kv_heads
from core.attention.linear import normalised
from core.errors import InputError

KEPT = 32


def weights(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    kept: int = KEPT,
) -> Float[Tensor, "batch head q k"]:
    """Softmax over the `kept` largest allowed scores of each row; all other keys weigh 0.

    In float32 at least. A row with no allowed key is all zeros.

    Raises:
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    every = standard.weights(query, key, mask=mask, is_causal=is_causal, scale=scale)
    largest = every.topk(min(kept, key.shape[2]), dim=-1)
    shares = normalised(largest.values, largest.values.sum(dim=-1, keepdim=True))
    return every.new_zeros(every.shape).scatter(-1, largest.indices, shares)


def attend(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    kept: int = KEPT,
) -> Float[Tensor, "batch head q value_dim"]:
    """The values, averaged by `weights`; dropout falls on the weights.

    Raises:
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    looks = weights(query, key, mask=mask, is_causal=is_causal, scale=scale, kept=kept)
    if dropout_p > 0:
        looks = F.dropout(looks, dropout_p)
    value = expand_kv_heads(value, query.shape[1]).to(looks.dtype)
    return (looks @ value).to(query.dtype)


def topk(kept: int = KEPT) -> Mechanism:
    """Top-k attention that keeps another number of keys a row.

    Raises:
        InputError: if no key would be kept.
    """
    if kept < 1:
        raise InputError(f"At least 1 key a row to keep was wanted; {kept} came.")
    return Mechanism(
        name="topk" if kept == KEPT else f"topk {kept}",
        title=f"Top {kept}",
        source="Zhao et al. 2019, https://arxiv.org/abs/1912.11637",
        exact=False,
        cost="time and memory grow as N x N: it saves no time, since every score is needed to find "
        f"the {kept} largest of a row",
        attend=partial(attend, kept=kept),
        weights=partial(weights, kept=kept),
    )


TOPK = topk()
