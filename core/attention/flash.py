"""Flash attention: softmax attention block by block, no N x N matrix ever kept.

Sources: Dao et al. 2022, algorithm 1, https://arxiv.org/abs/2205.14135; the kernels are PyTorch's
own (`F.scaled_dot_product_attention`).

PyTorch changes to its maths kernel without a word when flash does not fit. Nothing here does: what
only the layout prevents is laid out anew, everything else is refused with the reason.
"""

import re
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention.common.half_precision import HALVES, MAX_DIM, in_steps, laid_out, top_left
from core.attention.common.masks import Mask, check_mask, merged
from core.attention.common.mechanism import Mechanism
from core.attention.common.shapes import exact_dtype, expand_kv_heads, group_size
from core.attention.standard import weights
from core.errors import MechanismError

FLASH_CHOICE = 1  # the value of SDPBackend.FLASH_ATTENTION

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
    """Softmax attention by a flash kernel, and by no other.

    Raises:
        MechanismError: if no flash kernel takes these inputs; the message gives the reason.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    group_size(query.shape[1], key.shape[1])
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.shape[2]))
    if not (query.numel() and key.numel() and value.numel()):
        return query.new_zeros(*query.shape[:3], value.shape[-1])
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    kernel = {"cpu": _on_cpu, "cuda": _on_cuda}.get(query.device.type)
    if kernel is None:
        raise MechanismError(f"flash: no flash kernel runs on {query.device.type}.")
    width = max(query.shape[-1], value.shape[-1])
    query, key, padded = (laid_out(tensor, width) for tensor in (query, key, value))
    output = kernel(query, key, padded, mask, is_causal, scale, dropout_p)
    return output[..., : value.shape[-1]]


def unavailable(device: torch.device | str, dtype: torch.dtype) -> str | None:
    """None where a flash kernel runs, else the reason; found by running a tiny tensor."""
    try:
        tiny = torch.zeros(1, 1, 2, 8, device=device, dtype=dtype)
        attend(tiny, tiny, tiny)
    # A build without the device's backend raises AssertionError, a missing driver RuntimeError.
    except (MechanismError, RuntimeError, AssertionError) as error:
        return re.split(r"\.\s|\n", str(error))[0]
    return None


def _on_cpu(
    query: Heads,
    key: Heads,
    value: Heads,
    mask: Mask | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> Heads:
    """PyTorch's CPU kernel, asked first whether it is the one that will run.

    `torch.nn.attention.sdpa_kernel` would pin it too, but its switches belong to the whole process,
    and other threads run other models at the same time.
    """
    if mask is not None:
        mask = merged(mask, is_causal, query.shape[2], key.shape[2])
        is_causal = False
        if mask.dtype != torch.bool:
            mask = mask.to(exact_dtype(query.dtype))
        mask = mask[None] if mask.ndim == 3 else mask
    how = {"scale": scale, "enable_gqa": query.shape[1] != key.shape[1]}
    arguments = (query, key, value, mask, dropout_p, is_causal)
    if torch._fused_sdp_choice(*arguments, **how) != FLASH_CHOICE:
        raise MechanismError(f"flash: {_cpu_obstacle(query, mask, dropout_p)}.")
    return F.scaled_dot_product_attention(*arguments, **how)


def _cpu_obstacle(query: Heads, mask: Mask | None, dropout_p: float) -> str:
    """Why PyTorch would run another kernel than flash."""
    if dropout_p > 0:
        return f"the CPU kernel has no dropout; dropout_p = {dropout_p} came"
    if mask is not None and mask.requires_grad:
        return "the CPU kernel gives no gradient to a mask; one that requires it came"
    return (
        f"PyTorch's CPU kernel does not take {query.dtype} queries of shape {tuple(query.shape)} "
        f"{'without' if mask is None else 'with'} a mask (or flash is switched off in this process)"
    )


def _on_cuda(
    query: Heads,
    key: Heads,
    value: Heads,
    mask: Mask | None,
    is_causal: bool,
    scale: float,
    dropout_p: float,
) -> Heads:
    """PyTorch's CUDA kernel, called by its own name.

    The public function would need process-wide switches.
    """
    if query.dtype not in HALVES or query.shape[-1] > MAX_DIM or mask is not None:
        raise MechanismError(
            f"flash: CUDA kernels take float16 or bfloat16, at most {MAX_DIM} dimensions and "
            f"no mask; {query.dtype}, {query.shape[-1]} dimensions and "
            f"{'no' if mask is None else 'a'} mask came."
        )
    heads = query.shape[1]
    key, value = expand_kv_heads(key, heads), expand_kv_heads(value, heads)
    kernel = partial(_torch_cuda_kernel, scale=scale, dropout_p=dropout_p)
    return top_left(in_steps("flash", kernel, query, value), query, key, value, is_causal)


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
    attend=attend,
    weights=weights,
    unavailable=unavailable,
)
