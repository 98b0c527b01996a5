"""cuDNN attention: softmax attention by NVIDIA's own library, on its graphics cards only.

Source: https://docs.nvidia.com/deeplearning/cudnn (scaled dot product attention), called through
PyTorch. The kernel is called by its own name, as `torch.nn.attention.sdpa_kernel` would switch the
whole process, where other threads run other models; and so no other kernel can take its place.
"""

from functools import cache, partial

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.half_precision import in_steps, obstacle, top_left
from core.attention.common.masks import Mask, allowed, check_mask, merged
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import refuse_dropout
from core.attention.common.shapes import expand_kv_heads, group_size
from core.attention.standard import weights
from core.errors import MechanismError

PROBE = (1, 1, 8, 64)  # batch, head, positions, dim: sizes that every version of cuDNN takes

Heads = Float[Tensor, "batch _heads _positions _dim"]


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
    """Softmax attention by cuDNN, and by no other kernel.

    Raises:
        MechanismError: where cuDNN cannot run, for dropout, and for what cuDNN does not take.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout("cudnn", dropout_p)
    group_size(query.shape[1], key.shape[1])
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.shape[2]))
    reason = unavailable(query.device, query.dtype)
    if reason is not None:
        raise MechanismError(f"cudnn: {reason}.")
    if not (query.numel() and key.numel() and value.numel()):
        return query.new_zeros(*query.shape[:3], value.shape[-1])
    key, value = (expand_kv_heads(tensor, query.shape[1]) for tensor in (key, value))
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    if mask is None:
        kernel = in_steps("cudnn", partial(_kernel, scale=scale), query, value)
        return top_left(kernel, query, key, value, is_causal)
    if torch.is_grad_enabled() and mask.requires_grad:
        raise MechanismError("cudnn: masks that want a gradient are not taken; one came.")
    mask = merged(mask, is_causal, query.shape[2], key.shape[2])[(None,) * (4 - mask.ndim)]
    # A row with no allowed key would be NaN: it sees every key, and its output is put to zero.
    blind = ~allowed(mask).any(dim=-1, keepdim=True)
    kernel = partial(_kernel, scale=scale, bias=_bias(mask, blind, query.dtype))
    output = in_steps("cudnn", kernel, query, value)(query, key, value, False)
    return output.masked_fill(blind, 0)


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why cuDNN cannot run on a device in a type; None where a tiny call went through."""
    return obstacle(device, dtype) or _probed(device, dtype)


@cache
def _probed(device: torch.device, dtype: torch.dtype) -> str | None:
    tiny = torch.zeros(PROBE, device=device, dtype=dtype)
    try:
        _kernel(tiny, tiny, tiny, False, scale=1.0)
    except MechanismError as error:
        return str(error).removeprefix("cudnn: ").removesuffix(".")
    return None


def _bias(mask: Mask, blind: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as numbers to be added; rows without an allowed key are left alone."""
    if mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)
    return mask.masked_fill(blind, 0).to(dtype)


def _kernel(
    query: Heads,
    key: Heads,
    value: Heads,
    is_causal: bool,
    *,
    scale: float,
    bias: Tensor | None = None,
) -> Heads:
    """cuDNN's call; what it does not take is told in its own words."""
    learns = torch.is_grad_enabled() and any(each.requires_grad for each in (query, key, value))
    kernel = torch.ops.aten._scaled_dot_product_cudnn_attention
    try:
        return kernel(query, key, value, bias, learns, 0.0, is_causal, False, scale=scale)[0]
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        said = str(error).splitlines()[0].rstrip(".")
        raise MechanismError(f"cudnn: the library does not take these inputs: {said}.") from error


CUDNN = Mechanism(
    name="cudnn",
    title="cuDNN",
    source="NVIDIA cuDNN, https://docs.nvidia.com/deeplearning/cudnn",
    exact=True,
    cost="time grows as N x N, memory as N; on NVIDIA's graphics cards only",
    attend=attend,
    weights=weights,
    has_dropout=False,
    unavailable=unavailable,
)
