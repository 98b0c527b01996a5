"""FlexAttention: really compiled where this machine can, and its refusals where it cannot."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention.flex_attention import create_block_mask

from core.attention import MECHANISMS, flex, unavailable
from core.attention.common import flex_limits
from core.attention.common.masks import causal_mask
from core.attention.flex import FLEX
from core.bench.memory import peak_bytes
from core.bench.sweep.accuracy import checked_rows, softmax_rows
from core.bench.sweep.probing import probed_rows
from core.capture import capture
from core.errors import MechanismError
from core.maps import head_map
from tests.core.attention.runnable import CPU, uncompiled_flex

REASON = unavailable("flex", CPU, torch.float32)
compiled = [
    pytest.mark.skipif(REASON is not None, reason=str(REASON)),
    # torch's own, while it compiles
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]


def inputs(q, k, heads=6, kv_heads=3, dim=16, dtype=torch.float32):
    rng = torch.Generator().manual_seed(0)
    sizes = ((heads, q, dim), (kv_heads, k, dim), (kv_heads, k, dim))
    return [torch.randn(2, *size, generator=rng).to(dtype) for size in sizes]


def expected(query, key, value, **how):
    """torch's maths in float64, for masks in which every row sees a key."""
    exact = [tensor.double() for tensor in (query, key, value)]
    return F.scaled_dot_product_attention(*exact, enable_gqa=True, **how).to(query.dtype)


@pytest.fixture
def no_compiler():
    with uncompiled_flex():
        yield


class TestCompiled:
    pytestmark = compiled

    def test_grouped_heads_and_causality_over_several_blocks(self):
        tensors = inputs(300, 300)
        with torch.inference_mode():
            ours = FLEX.attend(*tensors, is_causal=True)
        torch.testing.assert_close(ours, expected(*tensors, is_causal=True), atol=1e-5, rtol=1e-5)

    @pytest.mark.slow
    def test_a_mask_that_adds_numbers_hides_pairs_and_leaves_a_row_blind(self):
        tensors = inputs(149, 211)
        rng = torch.Generator().manual_seed(1)
        mask = torch.randn(149, 211, generator=rng)
        mask = mask.masked_fill(torch.rand(149, 211, generator=rng) > 0.5, -torch.inf)
        ours = FLEX.attend(*tensors, mask=mask)
        theirs = expected(*tensors, attn_mask=mask.double())
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
        mask[5] = -torch.inf
        blind = FLEX.attend(*tensors, mask=mask)
        assert (blind[:, :, 5] == 0).all()
        rest = torch.arange(149) != 5
        torch.testing.assert_close(blind[:, :, rest], theirs[:, :, rest], atol=1e-5, rtol=1e-5)

    @pytest.mark.slow
    def test_a_second_length_compiles_nothing(self):
        # 4 and 8 blocks: a number that another axis has too would be taken for that axis.
        FLEX.attend(*inputs(500, 500))
        before = torch._dynamo.utils.counters["stats"]["unique_graphs"]
        assert before > 0
        FLEX.attend(*inputs(900, 900))
        assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == before

    @pytest.mark.slow
    def test_no_matrix_of_all_pairs_is_held(self):
        tensors = inputs(2000, 2000, heads=1, kv_heads=1)
        FLEX.attend(*tensors)
        assert peak_bytes(lambda: FLEX.attend(*tensors)) < 2000 * 2000

    def test_a_capture_routes_to_it_and_verifies_its_map(self):
        query, key, value = inputs(150, 150, kv_heads=6)
        with torch.inference_mode(), capture("flex", verify_rows=7) as trace:
            F.scaled_dot_product_attention(query, key, value)
        assert trace.kernels == "flex (cpu)"
        assert trace.error < 1e-5
        softmax = (query[0, 2] @ key[0, 2].T / 4).softmax(dim=-1)
        torch.testing.assert_close(head_map(trace.calls[0], 2), softmax)

    def test_a_kernel_that_cannot_be_compiled_is_told_in_one_sentence(self, monkeypatch):
        def broken(*_, **__):
            raise torch._dynamo.exc.TorchDynamoException("C++ compile error\nand a long log")

        monkeypatch.setattr(flex, "_compiled", lambda: broken)
        with pytest.raises(
            MechanismError, match=r"^flex: the kernel .* compiled: C\+\+ .* error.$"
        ):
            FLEX.attend(*inputs(7, 7))


@pytest.mark.parametrize(("q", "k"), [(7, 11), (128, 128), (300, 129), (129, 300), (1, 300)])
@pytest.mark.parametrize("kind", ["none", "causal", "pairs", "keys", "keys and causal"])
def test_blocks_are_those_that_torch_finds_by_looking_at_every_pair(q, k, kind):
    causal = kind.endswith("causal")
    mask = {"pairs": torch.rand(q, k) > 0.5, "keys": torch.arange(k)[None] >= 200}.get(
        kind.removesuffix(" and causal")
    )
    visible = torch.ones(q, k).bool() if mask is None else mask.expand(q, k)
    visible = visible & causal_mask(q, k) if causal else visible
    theirs = create_block_mask(lambda b, h, q, k: visible[q, k], 1, 1, q, k, device="cpu")
    ours = flex_limits.limits(mask, causal, (2, 3, q, k), CPU).block_mask
    # A block of a mask and of a causal one may hold pairs of both and none in common.
    some = theirs.to_dense().bool()
    assert (ours.to_dense().bool() | ~some).all()
    if mask is None or not causal:
        torch.testing.assert_close(ours.to_dense().bool(), some)
        assert ours.sparsity() == theirs.sparsity()


def test_gradients_are_refused_on_a_cpu(no_compiler):
    query, key, value = inputs(7, 11)
    with pytest.raises(MechanismError, match="flex: PyTorch's CPU kernel has no backward pass"):
        FLEX.attend(query.requires_grad_(), key, value)
    with torch.no_grad():
        FLEX.attend(query, key, value)
    with pytest.raises(MechanismError, match="flex: masks that want a gradient"):
        FLEX.attend(*inputs(7, 11), mask=torch.zeros(7, 11, requires_grad=True))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("which", "no C[+][+] compiler"), ("get_path", "Python's headers"), ("avx", "AVX2")],
)
def test_what_is_missing_to_compile_is_said(name, reason, monkeypatch):
    flex._obstacle.cache_clear()
    monkeypatch.setattr(torch.cpu, "_is_avx2_supported", lambda: name != "avx")
    monkeypatch.setattr(flex.shutil, "which", lambda _: None if name == "which" else "there")
    if name == "get_path":
        monkeypatch.setattr(flex.sysconfig, "get_path", lambda _: "nowhere")
    with pytest.raises(MechanismError, match=f"^flex: it.*{reason}"):
        FLEX.attend(*inputs(7, 7))
    flex._obstacle.cache_clear()


def test_other_devices_and_types_are_refused_by_name():
    assert "not for meta" in flex.unavailable(torch.device("meta"), torch.float32)
    assert "not float64" in flex.unavailable(CPU, torch.float64)
    if not torch.cuda.is_available():
        assert "NVIDIA" in flex.unavailable(torch.device("cuda"), torch.float16)
    assert "compiles for" in MECHANISMS["flex"].cost


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("kind", [None, "bool", "float"])
def test_a_map_without_gradients_is_probed(no_compiler, is_causal, kind):
    query, key, value = inputs(11, 11, dim=4)
    mask = {"bool": torch.arange(11)[None] < 8, "float": torch.randn(11, 11)}.get(kind)
    found = probed_rows(
        lambda *tensors, mask=mask, **how: FLEX.attend(*tensors, mask=mask, **how),
        query, key, value, is_causal, mask=mask,
    )  # fmt: skip
    softmax = softmax_rows(query, key, value, is_causal, mask=mask)
    assert found.weights.shape == (2, 6, len(checked_rows(11, 4)), 11)
    torch.testing.assert_close(found.weights.double(), softmax.weights, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(found.output.double(), softmax.output, atol=1e-6, rtol=1e-5)
