"""cuDNN and the flash-attn package: refused with their reason here, under contract on CUDA."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from core.attention import MECHANISMS, cudnn, flash_attn, unavailable
from core.attention.common import half_precision
from core.attention.common.masks import causal_mask
from core.errors import MechanismError
from tests.core.attention.runnable import CPU

standard = MECHANISMS["standard"]
NAMES = ("cudnn", "flash_attn")
CUDA = torch.device("cuda")
every_kernel = pytest.mark.parametrize("name", NAMES)


def inputs(q, k, dim=5, value_dim=3, kv_heads=3):
    rng = torch.Generator().manual_seed(0)
    sizes = ((6, q, dim), (kv_heads, k, dim), (kv_heads, k, value_dim))
    return [torch.randn(2, *size, generator=rng) for size in sizes]


def on_cuda(name, **sizes):
    """Inputs on the graphics card; skips where this machine cannot run the mechanism."""
    reason = unavailable(name, CUDA, torch.float16)
    if reason is not None:
        pytest.skip(f"{name}: {reason}")
    return [tensor.to(CUDA, torch.float16) for tensor in inputs(**sizes)]


def close(ours, theirs):
    torch.testing.assert_close(ours, theirs, atol=5e-3, rtol=5e-3)


@every_kernel
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_b3_without_a_gpu_it_is_refused_with_the_reason(name, dtype):
    assert unavailable(name, CPU, dtype) == "it needs an NVIDIA GPU"
    tensors = [tensor.to(dtype) for tensor in inputs(7, 11)]
    with pytest.raises(MechanismError, match=f"^{name}: it needs an NVIDIA GPU.$"):
        MECHANISMS[name].attend(*tensors)
    if not torch.cuda.is_available():
        assert unavailable(name, CUDA, dtype) == "it needs an NVIDIA GPU"


@every_kernel
def test_its_weights_are_softmax_everywhere(name):
    query, key, _ = inputs(7, 11)
    scores = query @ key.repeat_interleave(2, dim=1).mT * 5**-0.5
    torch.testing.assert_close(MECHANISMS[name].weights(query, key), scores.softmax(dim=-1))


def test_types_are_checked_before_anything_runs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert (
        half_precision.obstacle(CUDA, torch.float32) == "it takes float16 and bfloat16, not float32"
    )
    assert half_precision.obstacle(CUDA, torch.bfloat16) is None
    if "flash_attn" not in sys.modules:
        reason = flash_attn.unavailable(CUDA, torch.float16)
        assert reason == "the package flash-attn is not installed"


def bottom_right(query, key, value, is_causal):
    """A kernel as the package's: causality ends at the last query and the last key."""
    mask = causal_mask(query.shape[2], key.shape[2], bottom_right=True) if is_causal else None
    return standard.attend(query, key, value, mask=mask, scale=0.4)


@pytest.mark.parametrize(("q", "k"), [(7, 11), (11, 7), (7, 7), (1, 11), (11, 1)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_b1_a_kernel_aligned_at_the_bottom_right_is_turned_to_the_top_left(q, k, is_causal):
    tensors = inputs(q, k)
    ours = half_precision.top_left(bottom_right, *tensors, is_causal)
    theirs = standard.attend(*tensors, is_causal=is_causal, scale=0.4)
    torch.testing.assert_close(ours, theirs)


def test_heads_are_widened_to_steps_of_8_and_cut_again():
    seen = []

    def kernel(query, key, value, is_causal):
        seen.extend(tensor.shape[-1] for tensor in (query, key, value))
        return bottom_right(query, key, value, is_causal)

    query, key, value = inputs(7, 11)
    output = half_precision.in_steps("cudnn", kernel, query, value)(query, key, value, False)
    assert seen == [8, 8, 8]
    torch.testing.assert_close(output, standard.attend(query, key, value, scale=0.4))
    with pytest.raises(MechanismError, match="^cudnn: heads of at most 256 .* 257 came"):
        half_precision.in_steps("cudnn", kernel, query, torch.zeros(2, 1, 1, 257))


def test_the_packages_axes_scale_and_masks(monkeypatch):
    def flash_attn_func(query, key, value, *, softmax_scale, causal):
        turned = (tensor.transpose(1, 2) for tensor in (query, key, value))
        output = standard.attend(*turned, scale=softmax_scale, is_causal=causal)
        return output.transpose(1, 2)

    package = SimpleNamespace(flash_attn_func=flash_attn_func)
    monkeypatch.setitem(sys.modules, "flash_attn", package)
    mechanism = replace(flash_attn.FLASH_ATTN, unavailable=None)
    tensors = inputs(7, 11)
    ours = mechanism.attend(*tensors, scale=0.3, is_causal=True)
    torch.testing.assert_close(ours, standard.attend(*tensors, scale=0.3, is_causal=True))
    with pytest.raises(MechanismError, match=r"^flash_attn: masks .* \(7, 11\) came"):
        mechanism.attend(*tensors, mask=torch.ones(7, 11).bool())


@pytest.mark.parametrize("kind", ["bool", "float", "causal", "blind"])
def test_cudnn_gets_a_mask_as_numbers_and_blind_rows_are_zero(kind, monkeypatch):
    def kernel(query, key, value, bias, learns, dropout, is_causal, debug, *, scale):
        assert (learns, dropout, is_causal, debug) == (False, 0.0, False, False)
        return standard.attend(query, key, value, mask=bias, scale=scale), None

    names = SimpleNamespace(_scaled_dot_product_cudnn_attention=kernel)
    monkeypatch.setattr(cudnn.torch, "ops", SimpleNamespace(aten=names))
    tensors = inputs(7, 11)
    mask = torch.rand(2, 1, 7, 11, generator=torch.Generator().manual_seed(1)) > 0.3
    if kind == "float":
        mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf) + 0.5
    if kind == "blind":
        mask[0, :, 3] = False
    how = {"mask": mask, "is_causal": kind == "causal"}
    mechanism = replace(cudnn.CUDNN, unavailable=None)
    ours, theirs = mechanism.attend(*tensors, **how), standard.attend(*tensors, **how)
    torch.testing.assert_close(ours, theirs)


def test_what_cudnn_does_not_take_is_told_in_its_words(monkeypatch):
    def kernel(*_, **__):
        raise RuntimeError("cuDNN Frontend error: no plan.\nmore")

    names = SimpleNamespace(_scaled_dot_product_cudnn_attention=kernel)
    monkeypatch.setattr(cudnn.torch, "ops", SimpleNamespace(aten=names))
    with pytest.raises(MechanismError, match=r"^cudnn: .* inputs: cuDNN Frontend error: no plan.$"):
        replace(cudnn.CUDNN, unavailable=None).attend(*inputs(7, 11))


@pytest.mark.cuda
@pytest.mark.parametrize("name", [*NAMES, "flex"])
@pytest.mark.parametrize(("q", "k"), [(7, 11), (11, 7), (130, 130), (1, 11)])
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kv_heads", [6, 3, 1])
def test_on_cuda_it_equals_standard(name, q, k, is_causal, kv_heads):
    tensors = on_cuda(name, q=q, k=k, dim=64, value_dim=64, kv_heads=kv_heads)
    ours = MECHANISMS[name].attend(*tensors, is_causal=is_causal)
    close(ours, standard.attend(*tensors, is_causal=is_causal))


@pytest.mark.cuda
@pytest.mark.parametrize("name", ["cudnn", "flex"])
@pytest.mark.parametrize("kind", ["keys", "pairs", "float"])
def test_on_cuda_masks_are_honoured(name, kind):
    tensors = on_cuda(name, q=7, k=11, dim=64, value_dim=64)
    mask = torch.rand(2, 1, 1 if kind == "keys" else 7, 11, device=CUDA) > 0.4
    mask[1] = False
    if kind == "float":
        mask = torch.zeros(mask.shape, device=CUDA).masked_fill(~mask, -torch.inf)
    close(MECHANISMS[name].attend(*tensors, mask=mask), standard.attend(*tensors, mask=mask))


@pytest.mark.cuda
@pytest.mark.parametrize("name", [*NAMES, "flex"])
def test_on_cuda_gradients_equal_those_of_standard(name):
    leaves = [tensor.requires_grad_() for tensor in on_cuda(name, q=64, k=64, dim=64, value_dim=64)]
    ours, theirs = (
        torch.autograd.grad(MECHANISMS[each].attend(*leaves, is_causal=True).sum(), leaves)
        for each in (name, "standard")
    )
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, atol=2e-2, rtol=2e-2)
