"""Which mechanisms a test may run, on a machine without a GPU and without a compiler."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import torch
from torch.nn.attention import flex_attention as torch_flex

from core.attention import MECHANISMS, flex, unavailable

CPU = torch.device("cpu")
# FlexAttention is tested by its own semantics in the contract, and compiled in test_flex.py.
RUNNABLE = [
    name
    for name, mechanism in MECHANISMS.items()
    if not mechanism.compiles and unavailable(name, CPU, torch.float32) is None
]


@contextmanager
def uncompiled_flex() -> Iterator[None]:
    """FlexAttention as PyTorch runs it uncompiled: the same meaning, with the whole matrix."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch_flex, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
        patch.setattr(flex, "_compiled", lambda: torch_flex.flex_attention)
        patch.setattr(flex, "_obstacle", lambda device: None)
        yield
