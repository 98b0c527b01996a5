"""Flash attention: softmax attention block by block, no N x N matrix ever kept.

Sources: Dao et al. 2022, algorithm 1, https://arxiv.org/abs/2205.14135; the kernels are PyTorch's
own (`F.scaled_dot_product_attention`).

PyTorch changes to its maths kernel without a word when flash does not fit. Nothing here does: a
layout that does not fit is copied into one that does, everything else is refused with the reason.
"""

from functools import cache, partial

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention.common.half_precision import (
    MAX_DIM,
    in_steps,
    kernel_layout,
    obstacle,
    top_left,
)
from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.softmax import softmax_weights
from core.attention.common.visibility import as_bias
from core.errors import MechanismError

FLASH_CHOICE = 1  # the value of SDPBackend.FLASH_ATTENTION
PROBE = (1, 1, 2, 8)  # batch, head, positions, dim

Heads = Float[Tensor, "batch _heads _positions _dim"]


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax attention by a flash kernel, and by no other.

    Raises:
        MechanismError: if no flash kernel takes these inputs; the message gives the reason.
    """
    if inputs.is_empty:
        return inputs.zeros()
    value_dim = inputs.value.shape[-1]
    width = max(inputs.query.shape[-1], value_dim)
    tensors = (kernel_layout(each, width) for each in (inputs.query, inputs.key, inputs.value))
    kernel = _on_cpu if inputs.query.device.type == "cpu" else _on_cuda
    return kernel(inputs, *tensors)[..., :value_dim]


def unavailable(device: torch.device | str, dtype: torch.dtype) -> str | None:
    """None where a flash kernel runs, else the reason; found with a tiny tensor."""
    device = torch.device(device)
    if device.type == "cpu":  # asked anew each time: any thread may switch the kernel off
        tiny = torch.zeros(PROBE, dtype=dtype)
        if torch._fused_sdp_choice(tiny, tiny, tiny) == FLASH_CHOICE:
            return None
        return f"PyTorch's CPU kernel does not take {dtype}, or is switched off in this process"
    if device.type != "cuda":
        return f"no flash kernel runs on {device.type}"
    return obstacle(device, dtype) or _probed(device, dtype)


@cache
def _probed(device: torch.device, dtype: torch.dtype) -> str | None:
    try:
        tiny = torch.zeros(PROBE, device=device, dtype=dtype)
        _torch_cuda_kernel(tiny, tiny, tiny, False, scale=1.0, dropout_p=0.0)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:
        return str(error).splitlines()[0].rstrip(".")
    return None


def _on_cpu(inputs: AttentionInputs, query: Heads, key: Heads, value: Heads) -> Heads:
    """PyTorch's CPU kernel, asked first whether it is the one that will run.

    `torch.nn.attention.sdpa_kernel` would pin it too, but its switches belong to the whole process,
    and other threads run other models at the same time.
    """
    mask = None if inputs.mask is None else inputs.limits()
    if mask is not None:
        mask = mask if mask.dtype == torch.bool else as_bias(mask, inputs.exact)
        mask = mask[None] if mask.ndim == 3 else mask
    how = {"scale": inputs.scale, "enable_gqa": query.shape[1] != key.shape[1]}
    arguments = (query, key, value, mask, 0.0, inputs.is_causal and mask is None)
    if torch._fused_sdp_choice(*arguments, **how) != FLASH_CHOICE:
        raise MechanismError(
            f"flash: PyTorch's CPU kernel does not take {query.dtype} queries of shape "
            f"{tuple(query.shape)} {'without' if mask is None else 'with'} a mask (or flash is "
            "switched off in this process)."
        )
    return F.scaled_dot_product_attention(*arguments, **how)


def _on_cuda(inputs: AttentionInputs, query: Heads, key: Heads, value: Heads) -> Heads:
    """PyTorch's CUDA kernel, called by its own name.

    The public function would need process-wide switches.
    """
    if query.shape[-1] > MAX_DIM or inputs.mask is not None:
        raise MechanismError(
            f"flash: CUDA kernels take at most {MAX_DIM} dimensions and no mask; "
            f"{query.shape[-1]} dimensions and {'no' if inputs.mask is None else 'a'} mask came."
        )
    key, value = (expand_kv_heads(each, query.shape[1]) for each in (key, value))
    kernel = partial(_torch_cuda_kernel, scale=inputs.scale, dropout_p=inputs.dropout_p)
    return top_left(in_steps("flash", kernel, query, value), query, key, value, inputs.is_causal)


def _torch_cuda_kernel(
    query: Heads, key: Heads, value: Heads, is_causal: bool, *, scale: float, dropout_p: float
) -> Heads:
    kernel = torch.ops.aten._scaled_dot_product_flash_attention
    return kernel(query, key, value, dropout_p, is_causal, scale=scale)[0]


FLASH = Mechanism(
    name="flash",
    title="Flash",
    source="Dao et al. 2022, https://arxiv.org/abs/2205.14135",
    exact=True,
    cost="time grows as N x N, memory as N",
    attend_kernel=attend,
    weights_kernel=softmax_weights,
    mask_gradients=False,
    no_dropout=("cpu",),
    unavailable=unavailable,
)
