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
from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import Mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.softmax import softmax_weights
from core.attention.common.visibility import as_bias, zero_fully_masked
from core.errors import MechanismError

PROBE = (1, 1, 8, 64)  # batch, head, positions, dim: sizes that every version of cuDNN takes

Heads = Float[Tensor, "batch _heads _positions _dim"]


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax attention by cuDNN, and by no other kernel.

    Raises:
        MechanismError: for what cuDNN does not take.
    """
    if inputs.is_empty:
        return inputs.zeros()
    query = inputs.query
    key, value = (expand_kv_heads(each, query.shape[1]) for each in (inputs.key, inputs.value))
    if inputs.mask is None:
        kernel = in_steps("cudnn", partial(_kernel, scale=inputs.scale), query, value)
        return top_left(kernel, query, key, value, inputs.is_causal)

    def under(mask: Mask) -> Tensor:
        bias = as_bias(mask[(None,) * (4 - mask.ndim)], query.dtype)
        kernel = partial(_kernel, scale=inputs.scale, bias=bias)
        return in_steps("cudnn", kernel, query, value)(query, key, value, False)

    return zero_fully_masked(under, inputs.limits(), check_first=False)


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
    attend_kernel=attend,
    weights_kernel=softmax_weights,
    mask_gradients=False,
    has_dropout=False,
    unavailable=unavailable,
)
