"""Precisions: what a device can compute in, found out anew after a failure that may pass."""

import pytest
import torch

from core.models import devices


@pytest.fixture
def forgotten():
    """What was found out of this machine is forgotten, before and after."""
    devices._has_kernels.cache_clear()
    yield
    devices._has_kernels.cache_clear()


@pytest.mark.parametrize(
    "error",
    [torch.OutOfMemoryError("full"), RuntimeError("CUDA error: out of memory"), MemoryError()],
)
def test_a_device_that_is_full_for_a_moment_is_asked_again(monkeypatch, forgotten, error):
    def full(*_):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(devices.F, "scaled_dot_product_attention", full)
        assert devices.precisions("cpu") == ("float32",)
    assert devices.precisions("cpu") == ("float32", "bfloat16", "float16")


def test_a_type_without_a_kernel_is_not_offered(monkeypatch, forgotten):
    def missing(*_):
        raise NotImplementedError("not implemented for 'Half'")

    monkeypatch.setattr(devices.F, "scaled_dot_product_attention", missing)
    assert devices.precisions("cpu") == ("float32",)
    monkeypatch.undo()
    assert devices.precisions("cpu") == ("float32",)
