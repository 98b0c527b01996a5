"""One contract for every entry of `MECHANISMS`."""

import math
import re

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from hypothesis import given, settings
from hypothesis import strategies as st

from core.attention import MECHANISMS
from core.attention.block_sparse import block_sparse
from core.attention.common.masks import causal_mask
from core.attention.longformer import longformer
from core.attention.swin import swin
from core.attention.window import window
from core.errors import MechanismError
from tests.core.attention.runnable import CPU, uncompiled_flex

BATCH, HEADS, KV_HEADS, Q, K, DIM, VALUE_DIM = 2, 6, 3, 7, 11, 5, 3
LOWEST = torch.finfo(torch.float32).min
TOLERANCE = {torch.float64: 1e-9, torch.float32: 2e-5, torch.bfloat16: 4e-2, torch.float16: 5e-3}


def in_one_square(i, j, shift):
    """Squares of 2 x 2 cut so that the first is short by `shift`; keys in rows, nearly square."""
    columns = max(math.ceil(math.sqrt(j.numel())), 1)
    down, right = (shift if side > 2 else 0 for side in (math.ceil(j.numel() / columns), columns))
    same_rows = (i // columns + down) // 2 == (j // columns + down) // 2
    return same_rows & ((i % columns + right) // 2 == (j % columns + right) // 2)


# The defaults see all of inputs as short as these; smaller ones do not. Which pairs they keep is
# said by hand: i looks at j.
REACH = {
    window(3): lambda i, j: (i - j).abs() < 3,
    longformer(2, 1): lambda i, j: ((i - j).abs() < 2) | (i < 1) | (j < 1),
    block_sparse(2, 0, 1): lambda i, j: ((i // 2 - j // 2).abs() < 2) | (i < 2) | (j < 2),
    swin(2): lambda i, j: in_one_square(i, j, 0),
    swin(2, shift=1): lambda i, j: in_one_square(i, j, 1),
}
every_mechanism = pytest.mark.parametrize(
    "mechanism", [*MECHANISMS.values(), *REACH], ids=lambda mechanism: mechanism.name
)
every_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)


@pytest.fixture(autouse=True, scope="module")
def no_compiler():
    with uncompiled_flex():
        yield


def refuses(mechanism, call, dtype=torch.float32):
    """Whether the mechanism cannot run here; the call must then be refused with the reason."""
    reason = mechanism.unavailable and mechanism.unavailable(CPU, dtype)
    if reason is None:
        return False
    with pytest.raises(MechanismError, match=re.escape(f"{mechanism.name}: {reason}")):
        call()
    return True


def inputs(q=Q, k=K, kv_heads=HEADS, dtype=torch.float32, value_dim=VALUE_DIM, seed=0):
    """Axis sizes are distinct primes where they can be, so a swapped axis is noticed."""
    rng = torch.Generator().manual_seed(seed)
    sizes = ((HEADS, q, DIM), (kv_heads, k, DIM), (kv_heads, k, value_dim))
    return [torch.randn(BATCH, *size, generator=rng).to(dtype) for size in sizes]


def padding(k=K):
    """Key masks of two lengths, the first padded on the left."""
    keys = torch.ones(BATCH, 1, 1, k, dtype=torch.bool)
    keys[0, ..., :2] = False
    keys[1, ..., k - 3 :] = False
    return keys


def reach(mechanism, q, k):
    """True where a small sparse mechanism keeps the pair."""
    return REACH[mechanism](torch.arange(q)[:, None], torch.arange(k))


def check(mechanism, query, key, value, visible, **how):
    """The contract on one call; `visible` says, by hand, who may look at whom."""
    weights = mechanism.weights(query, key, **how)
    tolerance = TOLERANCE[query.dtype]
    exact = torch.promote_types(query.dtype, torch.float32)
    if mechanism in REACH:
        visible = visible & reach(mechanism, *weights.shape[-2:])
    visible = visible.expand(weights.shape)
    assert weights.dtype == exact
    assert weights.isfinite().all()
    assert (weights >= 0).all()
    assert (weights[~visible] == 0).all()
    sums = visible.any(dim=-1).to(exact)
    torch.testing.assert_close(weights.sum(dim=-1), sums, atol=1e-5, rtol=0)
    if refuses(mechanism, lambda: mechanism.attend(query, key, value, **how), query.dtype):
        return
    output = mechanism.attend(query, key, value, **how)
    assert output.dtype == query.dtype
    value = value.repeat_interleave(query.shape[1] // value.shape[1], dim=1).to(exact)
    torch.testing.assert_close(output.to(exact), weights @ value, atol=tolerance, rtol=tolerance)


@every_mechanism
@every_dtype
@pytest.mark.parametrize("kv_heads", [HEADS, KV_HEADS, 1])
def test_every_type_and_grouping(mechanism, dtype, kv_heads):
    check(mechanism, *inputs(dtype=dtype, kv_heads=kv_heads), torch.ones(Q, K).bool())


@every_mechanism
@pytest.mark.parametrize(("q", "k"), [(Q, Q), (3, K), (K, 3), (1, K), (Q, 1), (0, K), (Q, 0)])
def test_causal_is_top_left_for_every_rectangle(mechanism, q, k):
    check(mechanism, *inputs(q, k), causal_mask(q, k), is_causal=True)
    check(mechanism, *inputs(q, k), torch.ones(q, k).bool())


@every_mechanism
def test_b1_causal_with_2_queries_and_5_keys(mechanism):
    query, key, value = inputs(2, 5)
    top_left = torch.tensor([[1, 0, 0, 0, 0], [1, 1, 0, 0, 0]], dtype=torch.bool)
    bottom_right = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    check(mechanism, query, key, value, top_left, is_causal=True)
    decoding = causal_mask(2, 5, bottom_right=True)
    check(mechanism, query, key, value, bottom_right, mask=decoding)


@every_mechanism
@every_dtype
@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("forbidden", [False, -torch.inf, LOWEST])
def test_masked_keys_weigh_nothing_and_blind_rows_are_zero(mechanism, dtype, is_causal, forbidden):
    keys = padding()
    limit = causal_mask(Q, K) if is_causal else torch.ones(Q, K).bool()
    mask = keys if forbidden is False else torch.zeros(keys.shape).masked_fill(~keys, forbidden)
    check(mechanism, *inputs(dtype=dtype), keys & limit, mask=mask, is_causal=is_causal)


@every_mechanism
@pytest.mark.parametrize("sizes", [(1, K), (Q, K), (HEADS, 1, K), (HEADS, Q, K), (BATCH, 1, Q, K)])
def test_masks_of_2_to_4_axes_broadcast_from_the_right(mechanism, sizes):
    mask = torch.ones(sizes, dtype=torch.bool)
    mask[..., 4] = False
    mask[0, ..., 6:] = mask[0, ..., 6:] if len(sizes) == 2 else False
    check(mechanism, *inputs(), mask, mask=mask)


@every_mechanism
def test_a_call_with_no_allowed_key_at_all_gives_zeros(mechanism):
    nothing = torch.zeros(Q, K, dtype=torch.bool)
    check(mechanism, *inputs(), nothing, mask=nothing)


@every_mechanism
@pytest.mark.parametrize("kind", ["window", "bias"])
def test_a_mask_is_honoured_or_refused_by_name(mechanism, kind):
    window = causal_mask(Q, K) & ~causal_mask(Q, K).roll(3, dims=0)
    query, key, value = inputs()
    mask = window if kind == "window" else torch.randn(Q, K)
    if refuses(mechanism, lambda: mechanism.attend(query, key, value, mask=mask)):
        return None
    if mechanism.masks == "any":
        visible = window if kind == "window" else torch.ones(Q, K).bool()
        return check(mechanism, query, key, value, visible, mask=mask)
    with pytest.raises(MechanismError, match=rf"^{re.escape(mechanism.name)}: masks"):
        return mechanism.attend(query, key, value, mask=mask)


@every_mechanism
def test_weights_take_every_mask_that_only_hides(mechanism):
    query, key, value = inputs()
    visible = torch.rand(BATCH, HEADS, Q, K, generator=torch.Generator().manual_seed(1)) > 0.5
    weights = mechanism.weights(query, key, mask=visible)
    assert (weights[~visible] == 0).all()
    every = mechanism.weights(query, key) * visible
    sums = every.sum(dim=-1, keepdim=True)
    expected = every / sums.masked_fill(sums == 0, 1)
    torch.testing.assert_close(weights, expected)


@every_mechanism
@pytest.mark.parametrize("value_dim", [1, DIM, 13])
def test_values_of_any_width(mechanism, value_dim):
    check(mechanism, *inputs(value_dim=value_dim), torch.ones(Q, K).bool())


@every_mechanism
def test_layout_in_memory_does_not_matter(mechanism):
    plain = inputs()
    turned = [tensor.transpose(1, 3).contiguous().transpose(1, 3) for tensor in plain]
    assert not any(tensor.is_contiguous() for tensor in turned)
    check(mechanism, *turned, torch.ones(Q, K).bool())
    if refuses(mechanism, lambda: mechanism.attend(*turned)):
        return
    torch.testing.assert_close(mechanism.attend(*turned), mechanism.attend(*plain))


@every_mechanism
def test_inputs_are_left_as_they_were(mechanism):
    query, key, value = inputs()
    mask = torch.zeros(1, K).masked_fill(~padding()[1, 0], LOWEST)
    before = [tensor.clone() for tensor in (query, key, value, mask)]
    how = {"mask": mask, "is_causal": True}
    if not refuses(mechanism, lambda: mechanism.attend(query, key, value, **how)):
        mechanism.attend(query, key, value, **how)
    mechanism.weights(query, key, mask=mask, is_causal=True)
    assert all(map(torch.equal, before, (query, key, value, mask)))


@every_mechanism
def test_dropout_is_real_or_refused_by_name(mechanism):
    query, key, value = inputs()
    if mechanism.name in ("standard", "topk"):
        torch.manual_seed(0)
        dropped = mechanism.attend(query, key, value, dropout_p=0.5)
        torch.manual_seed(0)
        expected = F.dropout(mechanism.weights(query, key), 0.5) @ value
        return torch.testing.assert_close(dropped, expected)
    with pytest.raises(MechanismError, match=rf"^{re.escape(mechanism.name)}: .*dropout_p = 0.5"):
        return mechanism.attend(query, key, value, dropout_p=0.5)


@every_mechanism
def test_wrong_heads_and_masks_are_named(mechanism):
    query, key, value = inputs(kv_heads=4)
    with pytest.raises(ValueError, match="6 query and 4 key heads"):
        mechanism.attend(query, key, value)
    with pytest.raises(ValueError, match="6 query and 4 key heads"):
        mechanism.weights(query, key)
    query, key, value = inputs()
    with pytest.raises(ValueError, match="broadcasts to"):
        mechanism.attend(query, key, value, mask=torch.ones(K, Q).bool())
    with pytest.raises(ValueError, match="broadcasts to"):
        mechanism.weights(query, key, mask=torch.ones(K, Q).bool())


@every_mechanism
@settings(derandomize=True, deadline=None, max_examples=25)
@given(data=st.data())
def test_contract_on_generated_inputs(mechanism, data):
    size = st.integers(1, 7)
    batch, kv_heads, group, q, k, dim, value_dim = (data.draw(size) for _ in range(7))
    dtype = data.draw(st.sampled_from([torch.float64, torch.float32]))
    rng = torch.Generator().manual_seed(data.draw(st.integers(0, 99)))
    query = torch.randn(batch, kv_heads * group, q, dim, generator=rng).to(dtype)
    key = torch.randn(batch, kv_heads, k, dim, generator=rng).to(dtype)
    value = torch.randn(batch, kv_heads, k, value_dim, generator=rng).to(dtype)
    keys = torch.rand(batch, 1, 1, k, generator=rng) < data.draw(st.sampled_from([0.3, 0.9, 2.0]))
    offset = data.draw(st.one_of(st.none(), st.integers(-3, 7)))
    mask = keys if offset is None else keys & torch.ones(q, k).bool().tril(offset)
    is_causal = data.draw(st.booleans())
    scale = data.draw(st.sampled_from([None, 0.0, 0.7, -0.3]))
    visible = mask & causal_mask(q, k) if is_causal else mask
    how = {"mask": mask, "is_causal": is_causal, "scale": scale}
    check(mechanism, query, key, value, visible.expand(batch, kv_heads * group, q, k), **how)
