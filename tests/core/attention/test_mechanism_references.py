"""Each mechanism against a reference of its own: torch, a formula in a loop, or a limit."""

import math

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.profiler import ProfilerActivity, profile

from core.attention import MECHANISMS
from core.attention import linear as linear_file
from core.attention.common.masks import causal_mask
from core.attention.common.random_features import num_features, projection
from core.attention.favor import favor as favor_with
from core.errors import MechanismError
from tests.core.attention.runnable import RUNNABLE

BATCH, HEADS, KV_HEADS, Q, K, DIM, VALUE_DIM = 2, 6, 3, 7, 11, 5, 3
standard, flash, linear, favor = (
    MECHANISMS[name] for name in ("standard", "flash", "linear", "favor")
)
CPU_FLASH = "aten::_scaled_dot_product_flash_attention_for_cpu"


def inputs(q=Q, k=K, heads=HEADS, kv_heads=KV_HEADS, dtype=torch.float64, size=1.0):
    rng = torch.Generator().manual_seed(0)
    sizes = ((heads, q, DIM), (kv_heads, k, DIM), (kv_heads, k, VALUE_DIM))
    return [size * torch.randn(BATCH, *each, generator=rng, dtype=dtype) for each in sizes]


def kernels(call):
    """The names of the operators that a call ran."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        call()
    return {event.key for event in profiler.key_averages()}


@pytest.mark.parametrize("mechanism", [standard, flash])
@pytest.mark.parametrize("mask", [None, "bool", "float", "causal"])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_exact_mechanisms_equal_torch(mechanism, mask, scale):
    query, key, value = inputs()
    seen = torch.rand(BATCH, 1, Q, K, generator=torch.Generator().manual_seed(1)) > 0.4
    masks = {"bool": seen, "float": torch.randn(HEADS, Q, K, dtype=torch.float64)}
    ours = {"mask": masks.get(mask), "is_causal": mask == "causal", "scale": scale}
    theirs = {"attn_mask": masks.get(mask), "is_causal": mask == "causal", "scale": scale}
    expected = F.scaled_dot_product_attention(query, key, value, enable_gqa=True, **theirs)
    torch.testing.assert_close(mechanism.attend(query, key, value, **ours), expected)


def test_flash_takes_long_masks_whose_first_blocks_are_hidden():
    query, key, value = inputs(q=3, k=1300)
    mask = torch.ones(3, 1300, dtype=torch.bool)
    mask[1, :900] = False
    mask[2] = False
    expected = standard.attend(query, key, value, mask=mask)
    torch.testing.assert_close(flash.attend(query, key, value, mask=mask), expected)


@pytest.mark.parametrize("layout", ["plain", "mask of 3 axes", "turned", "wide values", "grouped"])
def test_b3_flash_runs_the_flash_kernel_whatever_the_layout(layout):
    query, key, value = inputs(kv_heads=KV_HEADS if layout == "grouped" else HEADS)
    mask = torch.ones(HEADS, Q, K, dtype=torch.bool) if layout == "mask of 3 axes" else None
    if layout == "turned":
        query = query.mT.contiguous().mT
    if layout == "wide values":
        value = torch.cat([value, value, value], dim=-1)
    ran = kernels(lambda: flash.attend(query, key, value, mask=mask))
    assert CPU_FLASH in ran
    assert "aten::_scaled_dot_product_attention_math" not in ran


def test_b3_flash_refuses_where_torch_would_run_another_kernel():
    query, key, value = inputs()
    with pytest.raises(MechanismError, match="flash: the CPU kernel has no dropout"):
        flash.attend(query, key, value, dropout_p=0.1)
    with pytest.raises(MechanismError, match="flash: masks that want a gradient are not taken"):
        flash.attend(query, key, value, mask=torch.zeros(Q, K, requires_grad=True))
    with sdpa_kernel(SDPBackend.MATH), pytest.raises(MechanismError, match="flash: PyTorch's"):
        flash.attend(query, key, value)


def test_b3_unavailable_says_why_after_trying():
    assert flash.unavailable("cpu", torch.float32) is None
    assert flash.unavailable(torch.device("cpu"), torch.bfloat16) is None
    with sdpa_kernel(SDPBackend.MATH):
        assert "switched off" in flash.unavailable("cpu", torch.float32)
    assert flash.unavailable("meta", torch.float32) == "no flash kernel runs on meta"
    if not torch.cuda.is_available():
        assert flash.unavailable("cuda", torch.float16)


@pytest.mark.cuda
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize(("q", "k"), [(7, 11), (11, 7), (7, 7)])
@pytest.mark.parametrize("is_causal", [False, True])
def test_flash_on_cuda_equals_standard(q, k, is_causal):
    tensors = [tensor.cuda().half() for tensor in inputs(q=q, k=k)]
    expected = standard.attend(*tensors, is_causal=is_causal)
    ours = flash.attend(*tensors, is_causal=is_causal)
    torch.testing.assert_close(ours, expected, atol=5e-3, rtol=5e-3)


def test_linear_equals_its_formula_in_a_loop():
    query, key, value = inputs()
    expected = torch.zeros(BATCH, HEADS, Q, VALUE_DIM, dtype=torch.float64)
    for batch, head, q in torch.cartesian_prod(*map(torch.arange, expected.shape[:3])):
        looking = F.elu(query[batch, head, q]) + 1
        pairs = [looking @ (F.elu(key[batch, head // 2, k]) + 1) for k in range(q + 1)]
        pulled = sum(pair * value[batch, head // 2, k] for k, pair in enumerate(pairs))
        expected[batch, head, q] = pulled / sum(pairs)
    torch.testing.assert_close(linear.attend(query, key, value, is_causal=True), expected)


def test_linear_has_no_scale_and_says_so():
    query, key, value = inputs()
    plain = linear.attend(query, key, value)
    assert torch.equal(linear.attend(query, key, value, scale=0.01), plain)
    assert "`scale`" in linear_file.__doc__


def test_linear_features_stay_positive_where_elu_rounds_to_zero():
    x = torch.tensor([-80.0, -20.0, 0.0, 3.0])
    expected = torch.tensor([math.exp(-80), math.exp(-20), 1.0, 4.0])
    torch.testing.assert_close(linear_file.feature_map(x), expected, atol=0, rtol=1e-6)


@pytest.mark.parametrize("module", [linear, favor])
@pytest.mark.parametrize("bottom_right", [False, True])
@pytest.mark.parametrize(("q", "k"), [(301, 301), (149, 557), (557, 149)])
def test_causal_blocks_equal_the_whole_matrix(module, bottom_right, q, k):
    query, key, value = inputs(q, k, heads=2, kv_heads=1)
    seen = causal_mask(q, k, bottom_right=bottom_right)
    seen = seen & (torch.arange(k) % 5 != 0)
    expected = module.weights(query, key, mask=seen) @ value
    torch.testing.assert_close(module.attend(query, key, value, mask=seen), expected)


def test_favor_approaches_softmax_as_features_grow():
    query, key, _ = inputs(size=0.7)
    softmax = standard.weights(query, key, is_causal=True)
    errors = []
    for features in (50, 500, 5000):
        tries = [
            favor_with(features, seed).weights(query, key, is_causal=True) for seed in range(5)
        ]
        errors.append(sum((each - softmax).abs().mean().item() for each in tries))
    assert errors[0] > 2 * errors[1] > 4 * errors[2]


def test_favor_honours_the_scale():
    query, key, value = inputs()
    for scale in (0.0, 0.1, -0.1):
        ours = favor_with(20_000).attend(query, key, value, scale=scale)
        expected = standard.attend(query, key, value, scale=scale)
        torch.testing.assert_close(ours, expected, atol=2e-2, rtol=0)


def test_favor_is_reproducible_by_seed():
    query, key, value = inputs()
    first = favor_with(seed=3).attend(query, key, value)
    assert torch.equal(first, favor_with(seed=3).attend(query, key, value))
    assert not torch.equal(first, favor_with(seed=4).attend(query, key, value))
    matrices = [projection(5, 13, torch.Generator().manual_seed(7)) for _ in range(2)]
    assert torch.equal(*matrices)


def test_favor_rows_are_orthogonal_in_blocks_and_as_long_as_gaussian_ones():
    assert num_features(64) == 266
    rows = projection(5, 5_000, torch.Generator().manual_seed(0)).unflatten(0, (-1, 5))
    products = rows @ rows.mT
    diagonal = torch.diag_embed(products.diagonal(dim1=1, dim2=2))
    torch.testing.assert_close(products, diagonal, atol=1e-9, rtol=0)
    assert products.diagonal(dim1=1, dim2=2).mean().item() == pytest.approx(5, rel=0.05)
    covariance = rows.flatten(0, 1).T.cov()
    torch.testing.assert_close(covariance, torch.eye(5).double(), atol=0.06, rtol=0)


@pytest.mark.parametrize("size", [12.0, 200.0])
@pytest.mark.parametrize("is_causal", [False, True])
def test_favor_survives_exponents_beyond_float(size, is_causal):
    query, key, value = inputs(heads=2, kv_heads=2, size=size)
    matrix = projection(DIM, num_features(DIM), torch.Generator().manual_seed(0)) * DIM**-0.25
    keys = key @ matrix.T - key.square().sum(dim=-1, keepdim=True) * DIM**-0.5 / 2
    scores = ((query @ matrix.T)[:, :, :, None] + keys[:, :, None]).logsumexp(dim=-1)
    if is_causal:
        scores = scores.masked_fill(~causal_mask(Q, K), -torch.inf)
    expected = scores.softmax(dim=-1)
    weights = favor.weights(query, key, is_causal=is_causal)
    torch.testing.assert_close(weights, expected)
    torch.testing.assert_close(
        favor.attend(query, key, value, is_causal=is_causal), expected @ value
    )


def test_favor_learns_after_a_first_call_in_inference_mode():
    query, key, value = inputs()
    with torch.inference_mode():
        favor_with(seed=11).attend(query, key, value)
    query.requires_grad_()
    favor_with(seed=11).attend(query, key, value).sum().backward()
    assert query.grad.abs().max() > 0


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("is_causal", [False, True])
def test_gradients_equal_those_of_the_whole_matrix(name, is_causal):
    module = MECHANISMS[name]
    mask = torch.tensor([[False, True, True, False, True]])
    leaves = [tensor.requires_grad_() for tensor in inputs(3, 5, heads=2, kv_heads=1)]

    def attend(*tensors):
        return module.attend(*tensors, mask=mask, is_causal=is_causal)

    assert torch.autograd.gradcheck(attend, leaves)
    query, key, value = leaves
    whole = module.weights(query, key, mask=mask, is_causal=is_causal) @ value
    ours = torch.autograd.grad(attend(*leaves).square().sum(), leaves)
    torch.testing.assert_close(ours, torch.autograd.grad(whole.square().sum(), leaves))


@pytest.mark.parametrize("module", [linear, favor])
@pytest.mark.parametrize("is_causal", [False, True])
def test_memory_grows_no_faster_than_the_inputs(module, is_causal):
    def peak(positions):
        tensors = [torch.randn(1, 2, positions, 16) for _ in range(3)]
        module.attend(*tensors, is_causal=is_causal)
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
            module.attend(*tensors, is_causal=is_causal)
        events = profiler.profiler.kineto_results.events()
        changes = [event for event in events if event.name() == "[memory]"]
        held = highest = 0
        for change in sorted(changes, key=lambda event: event.start_ns()):
            held += change.nbytes()
            highest = max(highest, held)
        return highest

    assert 0 < peak(8192) < 2.2 * peak(4096)
