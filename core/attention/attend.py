"""Attention by name: what a layer calls, and what `core.capture` sees of it.

Both functions go through torch's override protocol (`torch.overrides`), so an open capture gets the
layer's own choice of mechanism and can put another in its place. The choice of the capture goes
before that of the layer.
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function

from core.attention import MECHANISMS
from core.attention.common.grid import Grid
from core.attention.common.masks import Mask, check_mask
from core.attention.common.visibility import as_bias, merged, zero_fully_masked


def attend(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    dropout_p: float = 0.0,
    mechanism: str | None = None,
    grid: Grid | None = None,
) -> Float[Tensor, "batch head q value_dim"]:
    """The values that each query attends to, by a mechanism or, where it is None, torch's kernel.

    A query with no allowed key gives zeros and sends no gradient back, whatever kernel runs.

    Raises:
        MechanismError: if the mechanism cannot take the inputs.
        ValueError: if the mechanism is unknown, or the mask cannot be broadcast.
    """
    tensors, how = (query, key, value), {"mask": mask, "is_causal": is_causal}
    if has_torch_function(tensors):
        how |= {"dropout_p": dropout_p, "mechanism": mechanism, "grid": grid}
        return handle_torch_function(attend, tensors, *tensors, **how)
    if mechanism is not None:
        check_mechanism(mechanism)
        return MECHANISMS[mechanism].attend(*tensors, dropout_p=dropout_p, grid=grid, **how)
    if mask is None:
        return F.scaled_dot_product_attention(*tensors, dropout_p=dropout_p, is_causal=is_causal)
    check_mask(mask, (*query.shape[:3], key.shape[2]))
    mask = merged(mask, is_causal, query.shape[2], key.shape[2])
    mask = mask if mask.dtype == torch.bool else as_bias(mask, query.dtype)

    def kernel(mask: Mask) -> Tensor:
        return F.scaled_dot_product_attention(*tensors, attn_mask=mask, dropout_p=dropout_p)

    return zero_fully_masked(kernel, mask, check_first=False)


def attention_weights(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    mechanism: str | None = None,
    grid: Grid | None = None,
) -> Float[Tensor, "batch head q k"]:
    """The weights that `attend` implies, before dropout, in float32 at least.

    Rows are queries, columns keys; a row sums to 1, or to 0 where it has no allowed key.

    Raises:
        ValueError: if the mechanism is unknown, or the mask cannot be broadcast.
    """
    tensors, how = (query, key), {"mask": mask, "is_causal": is_causal}
    if has_torch_function(tensors):
        how |= {"mechanism": mechanism, "grid": grid}
        return handle_torch_function(attention_weights, tensors, *tensors, **how)
    name = mechanism or "standard"
    check_mechanism(name)
    return MECHANISMS[name].weights(*tensors, grid=grid, **how)


def check_mechanism(name: str | None) -> None:
    """Refuse a name that is not in MECHANISMS; None, torch's own kernel, is none of them.

    Raises:
        ValueError: if the name is unknown.
    """
    if name is not None and name not in MECHANISMS:
        raise ValueError(f"one of {', '.join(MECHANISMS)} was wanted; {name!r} came")
