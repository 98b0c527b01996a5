"""FlexAttention: softmax attention by a kernel that PyTorch writes and compiles for the mask.

Source: Dong et al. 2024, https://arxiv.org/abs/2412.05496; the kernels are PyTorch's own
(`torch.nn.attention.flex_attention`).

Uncompiled, the same function makes the whole N x N matrix. Nothing here calls it so: where nothing
can be compiled, the mechanism is refused with the reason.
"""

import os
import re
import shutil
import sys
import sysconfig
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.attention.flex_attention import flex_attention

from core.attention.common.flex_limits import limits
from core.attention.common.masks import Mask, check_mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import refuse_dropout
from core.attention.common.shapes import group_size
from core.attention.standard import weights
from core.errors import MechanismError

KINDS = 200  # compiled kernels that are kept; PyTorch's 8 are too few for a visitor's choices
CPU_TYPES = (torch.float32, torch.bfloat16, torch.float16)


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
    """Softmax attention by a compiled kernel; blocks that no query may look at are skipped.

    The first call of each kind (type, widths, kind of mask) compiles.

    Raises:
        MechanismError: for dropout, for gradients on a CPU, and where the kernel cannot be had.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout("flex", dropout_p)
    grouped = group_size(query.shape[1], key.shape[1]) > 1
    shape = (*query.shape[:3], key.shape[2])
    if mask is not None:
        check_mask(mask, shape)
    reason = unavailable(query.device, query.dtype)
    if reason is not None:
        raise MechanismError(f"flex: {reason}.")
    if not (query.numel() and key.numel() and value.numel()):
        return query.new_zeros(*shape[:3], value.shape[-1])
    _refuse_gradients(query, key, value, mask)
    how = {"scale": query.shape[-1] ** -0.5 if scale is None else scale, "enable_gqa": grouped}
    how |= limits(mask, is_causal, shape, query.device)._asdict()
    tensors = [each if each.stride(-1) == 1 else each.contiguous() for each in (query, key, value)]
    if query.device.type != "cpu":
        return _run(tensors, how)
    with torch.no_grad():  # and detached: the CPU's kernel refuses what could learn, even here
        return _run([each.detach() for each in tensors], how)


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why no kernel can be compiled for a device and a type; None where one can. Compiles none."""
    if device.type == "cpu" and dtype not in CPU_TYPES:
        return f"its CPU kernel takes float32, bfloat16 and float16, not {str(dtype)[6:]}"
    if device.type == "cuda" and dtype == torch.float64:
        return "its CUDA kernel does not take float64"
    return _obstacle(device.type)


@cache
def _obstacle(device: str) -> str | None:
    """What this machine lacks to compile for a kind of device."""
    if device not in ("cpu", "cuda"):
        return f"it is compiled for CPUs and CUDA, not for {device}"
    if device == "cuda" and (not torch.cuda.is_available() or find_spec("triton") is None):
        return "it needs an NVIDIA GPU, with the package triton"
    if device == "cpu" and not (torch.cpu._is_avx2_supported() and sys.platform != "darwin"):
        return "its CPU kernel needs a processor with AVX2, and Linux or Windows"
    compiler = os.environ.get("CXX", "cl" if sys.platform == "win32" else "g++")
    if shutil.which(compiler) is None:
        return f"it is compiled where it runs, and there is no C++ compiler ({compiler}) here"
    if not (Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "it is compiled where it runs, and Python's headers (python3-dev) are not here"
    return None


def _refuse_gradients(query: Tensor, key: Tensor, value: Tensor, mask: Mask | None) -> None:
    if not torch.is_grad_enabled():
        return
    if mask is not None and mask.requires_grad:
        raise MechanismError("flex: masks that want a gradient are not taken; one came.")
    if query.device.type == "cpu" and any(each.requires_grad for each in (query, key, value)):
        raise MechanismError("flex: PyTorch's CPU kernel has no backward pass.")


def _run(tensors: list[Tensor], how: dict[str, object]) -> Tensor:
    """The compiled call; what stops the compiler is told in one line."""
    try:
        return _compiled()(*tensors, **how)
    except (torch._dynamo.exc.TorchDynamoException, torch._dynamo.exc.FailOnRecompileLimitHit) as e:
        said = re.split(r"\.\s|\n", str(e).strip())[0]
        raise MechanismError(f"flex: the kernel could not be compiled: {said}.") from e


@cache
def _compiled() -> Callable[..., Tensor]:
    # fullgraph: past the limit of kernels an error is raised, and nothing runs uncompiled.
    return torch.compile(flex_attention, dynamic=True, fullgraph=True, recompile_limit=KINDS)


FLEX = Mechanism(
    name="flex",
    title="FlexAttention",
    source="Dong et al. 2024, https://arxiv.org/abs/2412.05496",
    exact=True,
    cost="time grows as N x N, memory as N; a new kind of call compiles for 3 to 15 seconds",
    attend=attend,
    weights=weights,
    has_dropout=False,
    unavailable=unavailable,
    compiles=True,
    no_gradients=("cpu",),
)
