"""May a query attend to a key? Every module that answers gives the same answer."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from core import maps
from core.attention import MECHANISMS
from core.attention.chunked import _limited_scores
from core.attention.common.flex_limits import limits as flex_limits
from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import allowed, causal_mask
from core.attention.common.separable import separable_mask
from core.attention.common.visibility import (
    as_bias,
    hide_ahead,
    limited,
    merged,
    part_of,
    zero_fully_masked,
)
from core.capture.trace import AttentionCall
from core.capture.weights import mask_rows
from core.maps.cells import allowed_in_cells

BATCH, HEADS, Q, K, DIM = 2, 3, 7, 11, 5
LOWEST = torch.finfo(torch.float32).min
EVERY = slice(None)
every_causality = pytest.mark.parametrize("is_causal", [False, True])


def masks(kind):
    """A mask of keys, of any pairs, or none; with rows that have no allowed key."""
    if kind == "none":
        return None
    visible = torch.rand(BATCH, 1, 1 if "keys" in kind else Q, K) > 0.4
    visible[1, ..., :1] = False
    if "added" in kind:
        return torch.randn(visible.shape).masked_fill(~visible, LOWEST)
    return visible


@pytest.fixture(params=["none", "keys", "keys, added", "pairs", "pairs, added"])
def mask(request):
    torch.manual_seed(0)
    return masks(request.param)


def by_hand(mask, is_causal):
    visible = torch.ones(BATCH, HEADS, Q, K, dtype=torch.bool)
    for batch, head, q, k in np.ndindex(*visible.shape):
        hidden = is_causal and k > q
        if mask is not None:
            entry = mask[batch, 0, q if mask.shape[2] > 1 else 0, k].item()
            hidden = hidden or entry in (False, LOWEST)
        visible[batch, head, q, k] = not hidden
    return visible


def call_of(mask, is_causal):
    query, key = torch.randn(BATCH, HEADS, Q, DIM), torch.randn(BATCH, 1, K, DIM)
    return AttentionCall(query, key, mask, is_causal, 1.0, None, "")


def chunked_scores(inputs):
    """Scores of 0 that chunked attention has hidden, chunk by chunk."""
    rows = []
    for queries in (slice(0, 3), slice(3, 4), slice(4, Q)):
        chunks = []
        for keys in (slice(0, 2), slice(2, 9), slice(9, K)):
            sizes = (each.stop - each.start for each in (queries, keys))
            scores = torch.zeros(BATCH, HEADS, *sizes)
            chunks.append(_limited_scores(scores, inputs, queries, keys))
        rows.append(torch.cat(chunks, dim=-1))
    return torch.cat(rows, dim=-2)


@every_causality
def test_inputs_records_chunks_and_flex_say_who_attends_to_whom(mask, is_causal):
    visible, call = by_hand(mask, is_causal), call_of(mask, is_causal)
    inputs = AttentionInputs(call.query, call.key, call.key, mask, is_causal, 1.0)
    shape = (BATCH, HEADS, Q, K)
    answers = [
        inputs.limits(),
        replace(inputs, positions=torch.arange(Q)).limits(),
        mask_rows(call, EVERY, EVERY, EVERY),
        chunked_scores(inputs),
        flex_limits(mask, is_causal, shape, torch.device("cpu")).block_mask.mask_mod(
            *torch.meshgrid(*map(torch.arange, shape), indexing="ij")
        ),
        visible if mask is None else merged(mask, is_causal, Q, K),
    ]
    for answer in answers:
        found = torch.ones(1).bool() if answer is None else allowed(answer)
        assert torch.equal(found.expand(shape), visible)


@every_causality
@pytest.mark.parametrize("name", ["standard", "window", "block_sparse", "topk"])
def test_weights_are_0_where_a_query_may_not_attend_and_nowhere_else(name, mask, is_causal):
    call = call_of(mask, is_causal)
    weights = MECHANISMS[name].weights(call.query, call.key, mask=mask, is_causal=is_causal)
    assert torch.equal(weights > 0, by_hand(mask, is_causal))


@every_causality
def test_maps_mark_the_cells_in_which_some_query_attends(mask, is_causal):
    visible, call = by_hand(mask, is_causal), call_of(mask, is_causal)
    cells = torch.stack([maps.allowed_cells(call, 2, batch) for batch in range(BATCH)])
    assert torch.equal(cells, visible[:, 2])
    found = allowed_in_cells(call, 2, 1, ((1, Q), (2, K)), (2, 3))
    if mask is None and not is_causal:
        assert found is None
        return
    rows = np.maximum.reduceat(visible[1, 2, 1:, 2:].numpy(), range(0, Q - 1, 2), axis=0)
    np.testing.assert_array_equal(found, np.maximum.reduceat(rows, range(0, K - 2, 3), axis=1))


@pytest.mark.parametrize("offset", [K, -3, 0, 4])
@every_causality
def test_a_separable_mask_hides_what_the_mask_and_causality_hide(offset, is_causal):
    keys = torch.arange(K) % 3 != 0
    mask = (
        torch.ones(Q, K).bool() if offset is None else torch.ones(Q, K).bool().tril(offset)
    ) & keys
    found = separable_mask("linear", mask, is_causal, (BATCH, HEADS, Q, K))
    visible = mask & causal_mask(Q, K) if is_causal else mask
    rows = [step.keys for step in found.steps(Q, K, 1)]
    reached = torch.stack([torch.arange(K) < rows[q].stop for q in range(Q)])
    assert torch.equal(reached & keys, visible)
    assert torch.equal(found.fully_masked(Q, K, mask.device)[0, 0], ~visible.any(dim=-1))


@pytest.mark.parametrize(("first_query", "first_key"), [(0, 0), (4, 0), (0, 4), (3, 2), (99, 0)])
def test_scores_are_hidden_ahead_of_their_query_alone(first_query, first_key):
    scores = torch.randn(2, Q, K)
    queries, keys = torch.arange(Q)[:, None] + first_query, torch.arange(K) + first_key
    expected = scores.masked_fill(keys > queries, -torch.inf)
    assert torch.equal(hide_ahead(scores.clone(), first_query, first_key), expected)


def test_a_part_of_a_mask_keeps_the_axes_that_only_repeat():
    assert part_of(torch.ones(2, 1, 1, K), slice(3, 5)).shape == (2, 1, 1, K)
    assert part_of(torch.ones(Q, 1), slice(3, 5), slice(0, 4)).shape == (2, 1)
    assert part_of(torch.ones(Q, K), slice(3, 5), slice(0, 4)).shape == (2, 4)


def test_a_limited_mask_adds_its_numbers_and_forbids_with_minus_infinity():
    mask, inf = torch.tensor([[0.5, LOWEST, 0.25]]), torch.inf
    assert limited(mask).tolist() == [[0.5, -inf, 0.25]]
    visible = torch.tensor([[True, True, False]])
    assert limited(mask, visible).tolist() == [[0.5, -inf, -inf]]
    assert limited(None, visible) is visible
    assert as_bias(visible, torch.float16).tolist() == [[0.0, 0.0, -inf]]


@pytest.mark.parametrize("check_first", [False, True])
@pytest.mark.parametrize("forbidden", [False, -torch.inf])
@pytest.mark.parametrize("rows", [[], [2, 5]])
def test_no_kernel_gets_to_see_a_query_without_a_key(check_first, forbidden, rows):
    mask = torch.ones(Q, K).bool() if forbidden is False else torch.zeros(Q, K)
    mask[rows] = forbidden

    def kernel(opened):
        assert allowed(opened).any(dim=-1).all()
        return torch.ones(BATCH, HEADS, Q, DIM)

    output = zero_fully_masked(kernel, mask, check_first=check_first)
    assert output.sum(dim=(0, 1, 3)).tolist() == [
        0.0 if row in rows else BATCH * HEADS * DIM for row in range(Q)
    ]
