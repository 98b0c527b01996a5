"""Maps: parts, wholes and pooled pictures of one call agree with softmax written by hand."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from core import maps
from core.attention import MECHANISMS
from core.capture.trace import AttentionCall, Trace
from tests.core.attention.runnable import RUNNABLE

Q, K = 13, 17


def call(mechanism: str | None = None, q: int = Q, k: int = K, **changes) -> AttentionCall:
    rng = torch.Generator().manual_seed(0)
    query = torch.randn(2, 4, q, 5, generator=rng)
    key = torch.randn(2, 2, k, 5, generator=rng)
    made = AttentionCall(query, key, None, False, 0.7, mechanism, "flash (cpu)")
    return replace(made, **changes)


def key_mask() -> Tensor:
    mask = torch.ones(2, 1, 1, K, dtype=torch.bool)
    mask[1, ..., 12:] = False
    return mask


CALLS = {
    "plain": lambda name: call(name),
    "causal": lambda name: call(name, is_causal=True),
    "masked": lambda name: call(name, mask=key_mask()),
    "masked causal": lambda name: call(name, mask=key_mask(), is_causal=True),
}


def by_hand(one: AttentionCall, head: int, batch: int) -> Tensor:
    """softmax(scale q k^T), one head of a call without mask."""
    scores = one.scale * one.query[batch, head] @ one.key[batch, head // 2].T
    if one.is_causal:
        scores = scores.masked_fill(torch.ones(scores.shape).triu(1) > 0, -torch.inf)
    return scores.softmax(dim=-1)


@pytest.mark.parametrize("causal", [False, True])
def test_a_head_map_is_the_softmax_of_its_scores(causal):
    one = call(is_causal=causal)
    torch.testing.assert_close(maps.head_map(one, 3, 1), by_hand(one, 3, 1))


@pytest.mark.parametrize("mechanism", [None, *MECHANISMS])
@pytest.mark.parametrize("kind", CALLS)
def test_rows_columns_and_tiles_are_parts_of_the_whole_map(kind, mechanism, monkeypatch):
    monkeypatch.setattr("core.maps.blocks.BLOCK_CELLS", 3 * K)  # several blocks, the last one short
    one = CALLS[kind](mechanism)
    whole = maps.head_map(one, 2, 1)
    close = {"atol": 1e-5, "rtol": 1e-4}
    torch.testing.assert_close(maps.row(one, 2, 4, 1), whole[4], **close)
    torch.testing.assert_close(maps.column(one, 2, 6, 1), whole[:, 6], **close)
    torch.testing.assert_close(maps.tile(one, 2, (3, 11), (2, 7), 1), whole[3:11, 2:7], **close)
    torch.testing.assert_close(maps.rows([one, one], 4, 1)[1, 2], whole[4], **close)
    torch.testing.assert_close(maps.columns([one], 6, 1)[0, 2], whole[:, 6], **close)


@pytest.mark.parametrize("causal", [False, True])
def test_a_pooled_map_is_the_pool_of_the_whole_map(causal, monkeypatch):
    monkeypatch.setattr("core.maps.blocks.BLOCK_CELLS", 5 * K)
    one = call(is_causal=causal)
    whole = by_hand(one, 1, 0)[None, None]
    # At most 5 cells a side: 3 queries and 4 keys a cell.
    largest = F.max_pool2d(whole, (3, 4), ceil_mode=True)[0, 0]
    torch.testing.assert_close(maps.pooled(one, 1, 5), largest)
    mean = F.avg_pool2d(whole, (3, 4), ceil_mode=True, count_include_pad=False)[0, 0]
    torch.testing.assert_close(maps.pooled(one, 1, 5, "mean"), mean)


def test_a_map_smaller_than_the_picture_is_not_pooled():
    one = call()
    torch.testing.assert_close(maps.pooled(one, 1, 64), by_hand(one, 1, 0))


def test_a_mosaic_holds_every_layer_and_head():
    calls = [call(), call(is_causal=True)]
    mosaic = maps.mosaic(calls, 5, batch=1)
    assert mosaic.shape == (2, 4, 5, 5)
    torch.testing.assert_close(mosaic[1, 3], maps.pooled(calls[1], 3, 5, batch=1))


def test_half_precision_maps_are_float32_and_sum_to_one():
    one = call()
    half = replace(one, query=one.query.bfloat16(), key=one.key.bfloat16())
    whole = maps.head_map(half, 0)
    assert whole.dtype == torch.float32
    torch.testing.assert_close(whole.sum(dim=-1), torch.ones(Q))


def test_an_additive_mask_is_added_and_its_lowest_number_forbids():
    bias = torch.randn(1, 4, Q, K)
    bias[..., 5] = torch.finfo(torch.float32).min
    one = call(mask=bias)
    scores = one.scale * one.query[1, 3] @ one.key[1, 1].T + bias[0, 3]
    torch.testing.assert_close(maps.head_map(one, 3, 1), scores.softmax(dim=-1))
    assert not maps.allowed_cells(one, 3, 1)[:, 5].any()
    assert maps.allowed_cells(one, 3, 1)[:, :5].all()


def test_the_library_s_own_map_is_given_back_as_it_is():
    given = torch.rand(2, 4, Q, K)
    one = call(model_weights=given)
    torch.testing.assert_close(maps.head_map(one, 2, 1), given[1, 2])
    torch.testing.assert_close(maps.row(one, 2, 3, 1), given[1, 2, 3])


@pytest.mark.parametrize(("head", "batch", "name"), [(4, 0, "head"), (0, 2, "batch")])
def test_an_index_out_of_range_is_named(head, batch, name):
    with pytest.raises(ValueError, match=f"{name} from 0 to"):
        maps.head_map(call(), head, batch)


@pytest.mark.parametrize("mechanism", RUNNABLE)
def test_verify_measures_how_far_the_output_is_from_weights_times_v(mechanism):
    one = call(mechanism)
    value = torch.randn(2, 2, K, 5)
    output = MECHANISMS[mechanism].attend(one.query, one.key, value, scale=one.scale)
    full = replace(one, value=value, output=output)
    assert maps.verify(full) < 2e-6
    wrong = output.clone()
    wrong[1, 2, 6, 3] += 0.25
    assert maps.verify(replace(full, output=wrong)) == pytest.approx(0.25, abs=1e-5)


def test_verify_wants_a_call_that_still_has_its_output():
    with pytest.raises(ValueError, match="one without came"):
        maps.verify(call())


@pytest.mark.parametrize("batch", [0, 1])
def test_verify_does_not_swallow_what_is_no_number(batch):
    one = call()
    value = torch.randn(2, 2, K, 5)
    output = MECHANISMS["standard"].attend(one.query, one.key, value, scale=one.scale)
    output[batch, 2, 6, 3] = torch.nan
    healthy = replace(one, error=0.25)
    broken = replace(one, error=maps.verify(replace(one, value=value, output=output)))
    assert math.isnan(broken.error)
    assert math.isnan(Trace([healthy, broken, healthy]).error)
    output[batch, 2, 6, 3] = torch.inf
    broken = replace(one, error=maps.verify(replace(one, value=value, output=output)))
    assert Trace([healthy, broken]).error == math.inf
