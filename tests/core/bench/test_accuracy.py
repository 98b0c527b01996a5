"""Accuracy: the map that a call really made, beside softmax in float64."""

import math

import pytest
import torch

from core.attention import MECHANISMS
from core.bench.sweep.accuracy import (  # fmt: skip
    Rows,
    accuracy,
    checked_rows,
    entropy,
    rows_of,
    softmax_rows,
)
from tests.core.attention.runnable import RUNNABLE


@pytest.fixture
def qkv():
    return torch.randn(3, 2, 3, 11, 7, generator=torch.Generator().manual_seed(0)).unbind()


def test_rows_are_spread_from_the_first_to_the_last():
    assert checked_rows(5, 7) == [0, 1, 2, 3, 4]
    assert checked_rows(11, 3) == [0, 5, 10]
    assert checked_rows(1, 7) == [0]
    assert len(checked_rows(100_000, 128)) == 64


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("name", RUNNABLE)
def test_the_gradient_of_v_is_the_map(name, is_causal, qkv):
    mechanism = MECHANISMS[name]
    query, key, value = qkv
    found = rows_of(mechanism.attend, query, key, value, is_causal)
    rows = checked_rows(11, 7)
    weights = mechanism.weights(query, key, is_causal=is_causal)[:, :, rows]
    torch.testing.assert_close(found.weights, weights, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.output, weights @ value, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("is_causal", [False, True])
def test_softmax_rows_are_those_of_torch(is_causal, qkv):
    query, key, value = (tensor.double() for tensor in qkv)
    rows = softmax_rows(*qkv, is_causal)
    expected = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, is_causal=is_causal
    )
    torch.testing.assert_close(rows.output, expected[:, :, checked_rows(11, 7)])
    assert rows.weights.dtype == torch.float64


def test_distances_by_hand():
    softmax = Rows(torch.tensor([[[[0.5, 0.5], [1.0, 0.0]]]]).double(), torch.ones(1, 1, 2, 1))
    found = Rows(torch.tensor([[[[0.75, 0.25], [0.0, 1.0]]]]), torch.tensor([[[[1.0], [2.0]]]]))
    told = accuracy("linear", 2, found, softmax)
    # Half of |.25| + |.25|, and half of |1| + |1|.
    assert told.total_variation == pytest.approx((0.25 + 1.0) / 2)
    assert told.worst_variation == pytest.approx(1.0)
    assert told.output_error == pytest.approx(1 / math.sqrt(2))
    assert told.softmax_entropy == pytest.approx(math.log(2) / 2)
    assert (told.mechanism, told.length, told.rows) == ("linear", 2, 2)


def test_entropy_of_flat_and_of_sharp_rows():
    assert entropy(torch.full((1, 1, 3, 5), 0.2)) == pytest.approx(math.log(5))
    assert entropy(torch.eye(5)[None, None]) == 0.0
