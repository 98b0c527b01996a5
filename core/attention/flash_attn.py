"""The package flash-attn: flash attention by its authors' own CUDA kernels.

Source: Dao 2023, https://arxiv.org/abs/2307.08691; https://github.com/Dao-AILab/flash-attention
"""

from functools import cache, partial
from importlib.util import find_spec

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.half_precision import in_steps, obstacle, top_left
from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.softmax import softmax_weights

PROBE = (1, 1, 8, 64)  # batch, head, positions, dim

Heads = Float[Tensor, "batch _heads _positions _dim"]


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax attention by the package's kernel, and by no other."""
    if inputs.is_empty:
        return inputs.zeros()
    query, key, value = inputs.query, inputs.key, inputs.value
    kernel = in_steps("flash_attn", partial(_kernel, scale=inputs.scale), query, value)
    return top_left(kernel, query, key, value, inputs.is_causal)


def unavailable(device: torch.device, dtype: torch.dtype) -> str | None:
    """Why the package cannot run on a device in a type; None where a tiny call went through."""
    reason = obstacle(device, dtype)
    if reason is None and find_spec("flash_attn") is None:
        reason = "the package flash-attn is not installed"
    return reason or _probed(device, dtype)


@cache
def _probed(device: torch.device, dtype: torch.dtype) -> str | None:
    tiny = torch.zeros(PROBE, device=device, dtype=dtype)
    try:
        _kernel(tiny, tiny, tiny, False, scale=1.0)
    # A package built for another PyTorch fails at import, one for another card when it runs.
    except (ImportError, RuntimeError) as error:
        return f"the package flash-attn does not run here: {str(error).splitlines()[0]}"
    return None


def _kernel(query: Heads, key: Heads, value: Heads, is_causal: bool, *, scale: float) -> Heads:
    from flash_attn import flash_attn_func

    turned = (tensor.transpose(1, 2) for tensor in (query, key, value))
    return flash_attn_func(*turned, softmax_scale=scale, causal=is_causal).transpose(1, 2)


FLASH_ATTN = Mechanism(
    name="flash_attn",
    title="flash-attn package",
    source="Dao 2023, https://arxiv.org/abs/2307.08691",
    exact=True,
    cost="time grows as N x N, memory as N; on NVIDIA's graphics cards only",
    attend_kernel=attend,
    weights_kernel=softmax_weights,
    masks="none",
    has_dropout=False,
    unavailable=unavailable,
)
