"""Masks of layers: which shapes are taken, and what each means."""

import pytest
import torch

from core.attention.common.masks import batch_mask, causal_mask, padding_mask
from core.layers import MultiHeadAttention, SelfAttention

SHAPE = BATCH, HEADS, Q, K = 2, 3, 5, 7


@pytest.mark.parametrize("shape", [(K,), (Q, K), (BATCH, Q, K), SHAPE, (BATCH, 1, 1, K), (1, K)])
def test_every_common_shape_means_what_its_axes_say(shape):
    given = torch.rand(shape, generator=torch.Generator().manual_seed(0)) < 0.5
    spread = batch_mask(given, SHAPE).expand(SHAPE)
    for batch, head, q, k in torch.cartesian_prod(*(torch.arange(n) for n in SHAPE)).tolist():
        full = {1: (k,), 2: (q, k), 3: (batch, q, k), 4: (batch, head, q, k)}[len(shape)]
        place = tuple(0 if size == 1 else i for i, size in zip(full, shape, strict=True))
        assert spread[batch, head, q, k] == given[place]


def test_no_mask_stays_none():
    assert batch_mask(None, SHAPE) is None


@pytest.mark.parametrize(
    "shape", [(), (Q,), (BATCH, K), (K, Q), (HEADS, Q, K), (HEADS, BATCH, Q, K), (1, *SHAPE)]
)
def test_other_shapes_are_refused_with_both_shapes_and_the_way_out(shape):
    with pytest.raises(ValueError, match=r"padding_mask\(lengths, k\)$") as caught:
        batch_mask(torch.ones(shape, dtype=torch.bool), SHAPE)
    assert f"shape {shape} came" in str(caught.value)
    assert str(SHAPE) in str(caught.value)


def test_a_mask_of_whole_numbers_is_refused():
    with pytest.raises(ValueError, match=r"torch\.int64 came"):
        batch_mask(torch.ones(Q, K, dtype=torch.int64), SHAPE)


def test_padding_stays_padding_where_batch_and_queries_are_as_many():
    x = torch.randn(3, 3, 4)
    mask = padding_mask(torch.tensor([3, 1, 2]), 3)
    weights = SelfAttention(4)(x, mask=mask).weights
    seen = (weights > 0).expand(3, 1, 3, 3)
    assert torch.equal(seen, mask.expand(3, 1, 3, 3))


@pytest.mark.parametrize("kind", ["boolean", "float"])
def test_a_mask_and_causality_forbid_together(kind):
    layer = MultiHeadAttention(12, 3)
    x = torch.randn(2, Q, 12)
    mask = torch.tensor([True, True, False, True, True])
    both = mask & causal_mask(Q, Q)
    given = mask if kind == "boolean" else torch.zeros(Q).masked_fill(~mask, -torch.inf)
    expected = layer(x, mask=both, need_weights=True)
    ours = layer(x, mask=given, is_causal=True, need_weights=True)
    torch.testing.assert_close(ours.output, expected.output)
    assert torch.equal(ours.weights > 0, both.expand(2, 3, Q, Q))


def test_a_learned_bias_gets_its_gradient():
    bias = torch.randn(3, Q, Q, requires_grad=True)
    x = torch.randn(2, Q, 12)
    layer = MultiHeadAttention(12, 3)
    gradients = []
    for mechanism in (None, "standard"):
        layer.mechanism = mechanism
        loss = layer(x, mask=bias[None], is_causal=True).output.square().sum()
        gradients.append(torch.autograd.grad(loss, bias)[0])
    torch.testing.assert_close(*gradients)
    assert gradients[0].abs().sum() > 0
