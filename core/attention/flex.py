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
from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.softmax import softmax_weights
from core.errors import MechanismError

KINDS = 200  # compiled kernels that are kept; PyTorch's 8 are too few for a visitor's choices
CPU_TYPES = (torch.float32, torch.bfloat16, torch.float16)


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax attention by a compiled kernel; blocks that no query may attend to are skipped.

    The first call of each kind (type, widths, kind of mask) compiles.

    Raises:
        MechanismError: where the kernel cannot be compiled.
    """
    if inputs.is_empty:
        return inputs.zeros()
    tensors, device = (inputs.query, inputs.key, inputs.value), inputs.query.device
    grouped = inputs.query.shape[1] != inputs.key.shape[1]
    how = {"scale": inputs.scale, "enable_gqa": grouped}
    how |= limits(inputs.mask, inputs.is_causal, inputs.shape, device)._asdict()
    tensors = [each if each.stride(-1) == 1 else each.contiguous() for each in tensors]
    if device.type != "cpu":
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
    attend_kernel=attend,
    weights_kernel=softmax_weights,
    mask_gradients=False,
    has_dropout=False,
    unavailable=unavailable,
    compiles=True,
    no_gradients=("cpu",),
)
