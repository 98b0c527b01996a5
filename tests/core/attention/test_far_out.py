"""Far out: queries and keys whose features multiply to nothing in float32 still weigh (U12)."""

import pytest
import torch

from core.attention import MECHANISMS
from core.attention.common.masks import causal_mask

LINEAR = MECHANISMS["linear"]


def by_hand(query, key, value, visible):
    """phi(q) phi(k)^T over its sum, in float64, where -150 is no trouble."""
    phi = [torch.where(x > 0, x + 1, x.exp()) for x in (query.double(), key.double())]
    products = (phi[0] @ phi[1].mT).masked_fill(~visible, 0)
    sums = products.sum(dim=-1, keepdim=True)
    weights = products / sums.masked_fill(sums == 0, 1)
    return weights, weights @ value.double()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_u12_one_key_at_minus_52_weighs_1(dtype):
    query, key = torch.full((2, 1, 2, 1, 8), -52.0, dtype=dtype)
    value = torch.randn(1, 2, 1, 3).to(dtype)
    assert (LINEAR.weights(query, key) == 1).all()
    torch.testing.assert_close(LINEAR.attend(query, key, value), value)


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("low", "high"), [(-60, -50), (-150, -140), (-150, 3), (-1, 1)])
def test_far_out_rows_are_those_of_float64(low, high, masked, is_causal):
    generator = torch.Generator().manual_seed(0)
    draw = [torch.rand(2, 3, n, 5, generator=generator) * (high - low) + low for n in (300, 7)]
    query, key = draw
    key[:, :, 0] = low  # the only key of the first causal row: far below the others
    value = torch.randn(2, 3, 7, 4, generator=generator)
    keys = torch.ones(2, 1, 1, 7, dtype=torch.bool)
    keys[1, ..., 4:] = not masked
    visible = (keys & causal_mask(300, 7) if is_causal else keys).expand(2, 3, 300, 7)
    how = {"mask": keys if masked else None, "is_causal": is_causal}
    wanted, output = by_hand(query, key, value, visible)
    torch.testing.assert_close(
        LINEAR.weights(query, key, **how).double(), wanted, atol=2e-5, rtol=0
    )
    found = LINEAR.attend(query, key, value, **how).double()
    torch.testing.assert_close(found, output, atol=5e-5, rtol=0)


def test_gradients_reach_far_out_values():
    query, key = torch.full((2, 1, 1, 3, 4), -60.0)
    value = torch.randn(1, 1, 3, 2, requires_grad=True)
    (gradient,) = torch.autograd.grad(LINEAR.attend(query, key, value).sum(), value)
    # Three alike keys and three queries: each value counts a third, three times.
    torch.testing.assert_close(gradient, torch.ones_like(value))
