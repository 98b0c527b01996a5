"""What the CUDA kernels for half precision share: types, widths, and the causal rectangle."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.errors import MechanismError

HALVES = (torch.float16, torch.bfloat16)
DIM_STEP = 8  # the kernels want a head dimension in steps of 8
MAX_DIM = 256

Heads = Float[Tensor, "batch _heads _positions _dim"]
Kernel = Callable[[Heads, Heads, Heads, bool], Heads]


def obstacle(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why no such kernel runs on a device in a type; None where one may."""
    if device.type != "cuda" or not torch.cuda.is_available():
        return "it needs an NVIDIA GPU"
    if dtype not in HALVES:
        return f"it takes float16 and bfloat16, not {str(dtype).removeprefix('torch.')}"
    return None


def kernel_layout(tensor: Heads, width: int) -> Heads:
    """The same numbers as the kernels want them: last stride 1, zeros up to `width`.

    Zeros change no score, and the columns they add to the output are cut off.
    """
    if tensor.shape[-1] < width:
        return F.pad(tensor, (0, width - tensor.shape[-1]))
    if tensor.stride(-1) != 1:
        return tensor.clone(memory_format=torch.contiguous_format)
    return tensor


def in_steps(name: str, kernel: Kernel, query: Heads, value: Heads) -> Kernel:
    """The kernel, for heads as wide as these, up to `MAX_DIM`.

    Raises:
        MechanismError: if the heads are wider.
    """
    wide = max(query.shape[-1], value.shape[-1])
    if wide > MAX_DIM:
        raise MechanismError(
            f"{name}: heads of at most {MAX_DIM} dimensions were wanted; {wide} came."
        )
    width, value_dim = -(-wide // DIM_STEP) * DIM_STEP, value.shape[-1]

    def padded(query: Heads, key: Heads, value: Heads, is_causal: bool) -> Heads:
        tensors = (kernel_layout(tensor, width) for tensor in (query, key, value))
        return kernel(*tensors, is_causal)[..., :value_dim]

    return padded


def top_left(kernel: Kernel, query: Heads, key: Heads, value: Heads, is_causal: bool) -> Heads:
    """The kernel's output with our alignment: query i attends to the keys 0 to i.

    These kernels align a causal rectangle at its bottom right. The square that all queries with a
    key of their own form has one alignment only; later queries attend to every key.
    """
    if not is_causal:
        return kernel(query, key, value, False)
    square = min(query.shape[2], key.shape[2])
    output = kernel(query[:, :, :square], key[:, :, :square], value[:, :, :square], True)
    if query.shape[2] == square:
        return output
    return torch.cat([output, kernel(query[:, :, square:], key, value, False)], dim=2)
