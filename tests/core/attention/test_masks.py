"""Masks against masks written out by hand, and against torch."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from core.attention.common.masks import allowed, causal_mask, check_mask, padding_mask
from core.attention.common.separable import separable_mask
from core.attention.common.softmax import masked_softmax
from core.attention.common.visibility import merged
from core.errors import MechanismError

SHAPE = (2, 3, 5, 7)
LOWEST = torch.finfo(torch.float32).min


def test_b1_causal_masks_of_2_queries_and_5_keys():
    top_left = [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]]
    bottom_right = [[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]]
    assert causal_mask(2, 5).int().tolist() == top_left
    assert causal_mask(2, 5, bottom_right=True).int().tolist() == bottom_right


def test_padding_mask_hides_what_lies_beyond_each_length():
    mask = padding_mask(torch.tensor([3, 1]), 3)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].int().tolist() == [[1, 1, 1], [1, 0, 0]]


@pytest.mark.parametrize("forbidden", [-torch.inf, LOWEST])
def test_minus_infinity_and_the_lowest_number_forbid(forbidden):
    assert allowed(torch.tensor([0.0, -3.0, forbidden])).tolist() == [True, True, False]


@pytest.mark.parametrize("sizes", [(7,), (1, 2, 3, 5, 7), (7, 5), (2, 5, 7), (3, 2, 5, 7)])
def test_a_mask_that_does_not_fit_is_named_with_both_shapes(sizes):
    with pytest.raises(ValueError, match="broadcasts to") as caught:
        check_mask(torch.ones(sizes, dtype=torch.bool), SHAPE)
    assert str(sizes) in str(caught.value)
    assert str(SHAPE) in str(caught.value)


def test_merged_forbids_what_either_forbids():
    keys = torch.tensor([[True, False, True]])
    expected = [[True, False, False], [True, False, False], [True, False, True]]
    assert merged(keys, True, 3, 3).tolist() == expected
    bias = torch.tensor([[0.5, LOWEST, 0.25]])
    inf = torch.inf
    assert merged(bias, True, 2, 3).tolist() == [[0.5, -inf, -inf], [0.5, -inf, -inf]]
    assert merged(None, True, 3, 3) is None


@pytest.mark.parametrize("forbidden", [False, -torch.inf, LOWEST])
def test_masked_softmax_of_a_blind_row_is_zero_and_so_is_its_gradient(forbidden):
    torch.manual_seed(0)
    scores = torch.randn(SHAPE, dtype=torch.float64)
    mask = torch.full((5, 7), True) if forbidden is False else torch.zeros(5, 7)
    mask[2] = forbidden
    mask[3, :4] = forbidden
    leaf = scores.clone().requires_grad_()
    result = masked_softmax(leaf * 1, mask, is_causal=False)
    expected = torch.zeros(SHAPE, dtype=torch.float64)
    expected[:, :, [0, 1, 4]] = scores[:, :, [0, 1, 4]].softmax(dim=-1)
    expected[:, :, 3, 4:] = scores[:, :, 3, 4:].softmax(dim=-1)
    torch.testing.assert_close(result.detach(), expected)
    result.square().sum().backward()
    assert leaf.grad.isfinite().all()
    assert (leaf.grad[:, :, 2] == 0).all()
    assert (leaf.grad[:, :, 3, :4] == 0).all()


def test_masked_softmax_leaves_nan_scores_in_sight():
    scores = torch.zeros(SHAPE)
    scores[0, 0, 0, 0] = torch.nan
    mask = torch.ones(5, 7, dtype=torch.bool)
    assert masked_softmax(scores, mask, is_causal=False)[0, 0, 0].isnan().any()


def test_masked_softmax_adds_a_learned_bias_with_its_gradient():
    torch.manual_seed(0)
    scores, bias = torch.randn(SHAPE), torch.randn(5, 7, requires_grad=True)
    ahead = torch.ones(5, 7, dtype=torch.bool).triu(1)
    weight = torch.randn(SHAPE)
    ours = masked_softmax(scores.clone(), bias, is_causal=True)
    theirs = F.softmax((scores + bias).masked_fill(ahead, -torch.inf), dim=-1)
    torch.testing.assert_close(ours, theirs)
    gradients = [torch.autograd.grad((result * weight).sum(), bias)[0] for result in (ours, theirs)]
    torch.testing.assert_close(*gradients)


KEYS = torch.tensor([True, True, False, True, True, False, True])


@pytest.mark.parametrize("offset", [None, -2, 0, 2, 3, 9])
@pytest.mark.parametrize("forbidden", [False, -torch.inf, LOWEST])
@pytest.mark.parametrize("expanded", [False, True])
def test_keys_and_any_diagonal_are_recognised(offset, forbidden, expanded):
    mask = torch.ones(5, 7, dtype=torch.bool) if offset is None else _band(offset)
    mask = mask & KEYS
    given = mask if forbidden is False else torch.zeros(5, 7).masked_fill(~mask, forbidden)
    given = given.expand(SHAPE) if expanded else given
    found = separable_mask("linear", given, False, SHAPE)
    keys = torch.ones(7, dtype=torch.bool) if found.keys is None else found.keys
    limit = torch.ones(5, 7, dtype=torch.bool) if found.offset is None else _band(found.offset)
    assert torch.equal((keys[..., None, :] & limit).expand(SHAPE), mask.expand(SHAPE))


def _band(offset):
    return torch.tensor([[key <= query + offset for key in range(7)] for query in range(5)])


def test_a_mask_and_causality_leave_the_narrower_diagonal():
    assert separable_mask("linear", _band(2), True, SHAPE).offset == 0
    assert separable_mask("linear", _band(-2), True, SHAPE).offset == -2
    assert separable_mask("linear", None, True, SHAPE).offset == 0


@pytest.mark.parametrize(
    "mask",
    [
        _band(0) & ~_band(-3),
        torch.eye(5, 7, dtype=torch.bool),
        _band(0).flip(0),
        torch.zeros(5, 7).fill_diagonal_(0.5),
        torch.stack([_band(0), _band(1), _band(0)]),
    ],
    ids=["window", "diagonal", "anticausal", "bias", "two diagonals"],
)
def test_other_masks_are_refused_by_name(mask):
    with pytest.raises(MechanismError, match=r"^linear: masks"):
        separable_mask("linear", mask, False, SHAPE)
