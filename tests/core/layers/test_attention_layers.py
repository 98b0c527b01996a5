"""Attention layers against torch's own, timm's own, and each other, with the same weights."""

import pytest
import torch
from timm.layers import Attention
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from core.attention import MECHANISMS
from core.attention.common.masks import causal_mask, padding_mask
from core.layers import MultiHeadAttention, SelfAttention, SeparateHeads
from tests.core.attention.runnable import RUNNABLE

BATCH, HEADS, Q, K, DIM, KV_DIM = 2, 3, 5, 7, 12, 11


@pytest.fixture
def x():
    return torch.randn(BATCH, Q, DIM, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def context():
    return torch.randn(BATCH, K, KV_DIM, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(2)


def from_torch(theirs, **how):
    """Our layer with the weights of a torch.nn.MultiheadAttention."""
    ours = MultiHeadAttention(theirs.embed_dim, theirs.num_heads, kv_dim=theirs.kdim, **how)
    packed = theirs.in_proj_weight
    separate = (theirs.q_proj_weight, theirs.k_proj_weight, theirs.v_proj_weight)
    weights = separate if packed is None else packed.chunk(3)
    for name, weight, bias in zip(
        ("query", "key", "value"), weights, theirs.in_proj_bias.chunk(3), strict=True
    ):
        getattr(ours, name).load_state_dict({"weight": weight, "bias": bias})
    ours.output.load_state_dict(theirs.out_proj.state_dict())
    return ours.eval()


def test_self_attention_is_the_formula_written_out(x):
    layer = SelfAttention(DIM, 5)
    output, weights = layer(x)
    query, key, value = layer.query(x), layer.key(x), layer.value(x)
    expected = (query @ key.mT / 5**0.5).softmax(dim=-1)
    torch.testing.assert_close(weights, expected[:, None])
    torch.testing.assert_close(output, expected @ value)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_multi_head_equals_torch(x, is_causal, bias):
    theirs = nn.MultiheadAttention(DIM, HEADS, batch_first=True).eval()
    nn.init.normal_(theirs.in_proj_bias)
    # torch's boolean attn_mask is True where a query may NOT look.
    mask = ~causal_mask(Q, Q) if is_causal else None
    mask = torch.randn(Q, Q).masked_fill(mask, -torch.inf) if bias and is_causal else mask
    expected = theirs(x, x, x, attn_mask=mask, average_attn_weights=False)
    own = mask.masked_fill(mask == -torch.inf, 0) if bias and is_causal else None
    ours = from_torch(theirs)(x, mask=own, is_causal=is_causal, need_weights=True)
    torch.testing.assert_close(ours.output, expected[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.weights, expected[1], atol=1e-5, rtol=0)


def test_cross_attention_with_padding_equals_torch(x, context):
    theirs = nn.MultiheadAttention(DIM, HEADS, kdim=KV_DIM, vdim=KV_DIM, batch_first=True).eval()
    nn.init.normal_(theirs.in_proj_bias)
    real = padding_mask(torch.tensor([K, 3]), K)
    hidden = ~real[:, 0, 0]
    expected = theirs(x, context, context, key_padding_mask=hidden, average_attn_weights=False)
    ours = from_torch(theirs)(x, context, mask=real, need_weights=True)
    torch.testing.assert_close(ours.output, expected[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(ours.weights, expected[1], atol=1e-5, rtol=0)
    assert (ours.weights[1, :, :, 3:] == 0).all()


def test_multi_head_equals_timm(x):
    theirs = Attention(DIM, HEADS, qkv_bias=True).eval()
    ours = MultiHeadAttention(DIM, HEADS).eval()
    for name, weight, bias in zip(
        ("query", "key", "value"), theirs.qkv.weight.chunk(3), theirs.qkv.bias.chunk(3), strict=True
    ):
        getattr(ours, name).load_state_dict({"weight": weight, "bias": bias})
    ours.output.load_state_dict(theirs.proj.state_dict())
    torch.testing.assert_close(ours(x).output, theirs(x), atol=1e-5, rtol=0)


@pytest.mark.parametrize("bias", [False, True])
def test_one_projection_split_into_heads_equals_separate_heads(x, context, bias):
    separate = SeparateHeads(DIM, HEADS, kv_dim=KV_DIM, bias=bias)
    mask = torch.rand(BATCH, HEADS, Q, K) < 0.7
    how = {"mask": mask, "need_weights": True}
    expected, ours = separate(x, context, **how), separate.joined()(x, context, **how)
    torch.testing.assert_close(ours.output, expected.output)
    torch.testing.assert_close(ours.weights, expected.weights)


def test_weights_are_not_computed_unless_they_are_asked_for(x, monkeypatch):
    layer = MultiHeadAttention(DIM, HEADS)
    monkeypatch.setattr("core.layers.attention.attention_weights", None)
    assert layer(x).weights is None
    with pytest.raises(TypeError):
        layer(x, need_weights=True)


@pytest.mark.parametrize("mechanism", [None, "standard"])
def test_weights_in_training_are_those_before_dropout(x, mechanism):
    layer = MultiHeadAttention(DIM, HEADS, dropout=0.5, mechanism=mechanism)
    output, weights = layer(x, need_weights=True)
    expected = layer.eval()(x, need_weights=True)
    torch.testing.assert_close(weights, expected.weights)
    torch.testing.assert_close(weights.sum(dim=-1), torch.ones(BATCH, HEADS, Q))
    assert not torch.allclose(output, expected.output)


@pytest.mark.parametrize("mechanism", [None, "standard"])
def test_dropout_keeps_the_mean(x, mechanism):
    layer = SelfAttention(DIM, dropout=0.3, mechanism=mechanism)
    with torch.no_grad():
        mean = layer(x.repeat(2000, 1, 1)).output.unflatten(0, (2000, BATCH)).mean(dim=0)
        torch.testing.assert_close(mean, layer.eval()(x).output, atol=0.06, rtol=0)


@pytest.mark.parametrize("mechanism", ["linear", "favor"])
def test_dropout_of_weights_that_are_never_made_is_refused_by_name(x, mechanism):
    layer = MultiHeadAttention(DIM, HEADS, dropout=0.5, mechanism=mechanism)
    with pytest.raises(ValueError, match=f"^{mechanism}: there is no dropout"):
        layer(x)
    assert layer.eval()(x).output.isfinite().all()


def masked_outputs(mechanism, x, mask):
    layer = SelfAttention(DIM, mechanism=mechanism)
    leaf = x.clone().requires_grad_()
    attended = layer(leaf, mask=mask)
    attended.output.square().sum().backward()
    return layer, leaf, attended


@pytest.mark.parametrize("mechanism", [None, *RUNNABLE])
@pytest.mark.parametrize("kind", ["boolean", "minus infinity", "lowest"])
def test_t3_no_allowed_key_gives_zeros_and_finite_gradients(x, mechanism, kind):
    mask = padding_mask(torch.tensor([0, 3]), Q)
    if kind != "boolean":
        forbidden = -torch.inf if kind == "minus infinity" else torch.finfo(torch.float32).min
        mask = torch.zeros(mask.shape).masked_fill(~mask, forbidden)
    layer, leaf, (output, weights) = masked_outputs(mechanism, x, mask)
    assert (output[0] == 0).all()
    assert (weights[0] == 0).all()
    assert output[1].abs().min() > 0
    assert (leaf.grad[0] == 0).all()
    assert leaf.grad.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in layer.parameters())


@pytest.mark.parametrize("kernel", [SDPBackend.MATH, SDPBackend.FLASH_ATTENTION])
def test_a_kernel_that_gives_nan_for_a_blind_row_never_sees_one(x, kernel, monkeypatch):
    mask = padding_mask(torch.tensor([0, 3]), Q)
    kernel_of_torch = nn.functional.scaled_dot_product_attention

    def brittle(*tensors, attn_mask, **how):
        output = kernel_of_torch(*tensors, attn_mask=attn_mask, **how)
        blind = ~attn_mask.any(dim=-1, keepdim=True)
        return output * torch.ones(blind.shape).masked_fill(blind, torch.nan)

    monkeypatch.setattr("core.attention.attend.F.scaled_dot_product_attention", brittle)
    with sdpa_kernel(kernel):
        _, leaf, (output, _) = masked_outputs(None, x, mask)
    assert (output[0] == 0).all()
    assert leaf.grad.isfinite().all()


@pytest.mark.parametrize("mechanism", [None, *RUNNABLE])
def test_every_path_takes_one_layout_and_honours_the_padding(x, mechanism):
    exact = mechanism is None or MECHANISMS[mechanism].exact
    layer = MultiHeadAttention(DIM, HEADS, mechanism=mechanism)
    mask = padding_mask(torch.tensor([Q, 3]), Q)
    output = layer(x, mask=mask).output
    changed = x.clone()
    changed[1, 3:] += 100
    torch.testing.assert_close(layer(changed, mask=mask).output[1, :3], output[1, :3])
    cut = layer(x[1:, :3]).output
    torch.testing.assert_close(output[1:, :3], cut, atol=1e-5, rtol=0)
    if exact:
        layer.mechanism = None
        with sdpa_kernel(SDPBackend.MATH):
            torch.testing.assert_close(layer(x, mask=mask).output, output, atol=1e-5, rtol=0)


def test_linear_attention_in_a_layer_is_its_formula_head_by_head(x):
    layer = MultiHeadAttention(DIM, HEADS, mechanism="linear")
    mask = padding_mask(torch.tensor([Q, 3]), Q)
    weights = layer(x, mask=mask, is_causal=True, need_weights=True).weights
    for head in range(HEADS):
        part = slice(head * 4, head * 4 + 4)
        query, key = (nn.functional.elu(p(x)[..., part]) + 1 for p in (layer.query, layer.key))
        seen = (mask[:, 0] & causal_mask(Q, Q)).float()
        scores = query @ key.mT * seen
        torch.testing.assert_close(weights[:, head], scores / scores.sum(dim=-1, keepdim=True))


def test_a_width_that_the_heads_do_not_divide_is_named():
    for layer in (MultiHeadAttention, SeparateHeads):
        with pytest.raises(ValueError, match="5 heads and 12 came"):
            layer(12, 5)


def test_an_unknown_mechanism_is_named(x):
    with pytest.raises(ValueError, match="'magic' came"):
        MultiHeadAttention(DIM, HEADS, mechanism="magic")
    layer = MultiHeadAttention(DIM, HEADS)
    layer.mechanism = "magic"
    with pytest.raises(ValueError, match="'magic' came"):
        layer(x)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("mechanism", [None, *RUNNABLE])
def test_half_precision_takes_masks_of_float32(x, dtype, mechanism):
    layer = MultiHeadAttention(DIM, HEADS, mechanism=mechanism)
    mask = torch.zeros(Q, Q).masked_fill(~causal_mask(Q, Q), torch.finfo(torch.float32).min)
    expected = layer(x, mask=mask).output
    output = layer.to(dtype)(x.to(dtype), mask=mask).output
    assert output.dtype == dtype
    torch.testing.assert_close(output.float(), expected, atol=0.03, rtol=0)
