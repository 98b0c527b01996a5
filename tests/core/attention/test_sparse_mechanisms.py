"""Sparse and chunked mechanisms against torch under a mask written by hand, and their maps."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from core import maps
from core.attention import MECHANISMS, chunked
from core.attention.block_sparse import block_sparse
from core.attention.common import pattern
from core.attention.common.masks import causal_mask
from core.attention.longformer import longformer
from core.attention.topk import topk
from core.attention.window import window
from core.bench.memory import peak_bytes
from core.capture import capture
from core.capture.trace import AttentionCall
from core.errors import InputError
from core.explain.gradients import attended
from tests.core.tiny import TWINS

BATCH, HEADS, KV_HEADS, DIM, VALUE_DIM = 2, 4, 2, 5, 3
LENGTHS = [(271, 271), (139, 401), (401, 139)]  # several pieces, the last one short
KINDS = ["none", "padding", "bias"]
# Every length and every kind of mask, causal and not; what is left of the product is slow.
CASES = [
    pytest.param(
        length, kind, causal, marks=[] if (row + column + causal) % 3 == 0 else pytest.mark.slow
    )
    for row, length in enumerate(LENGTHS)
    for column, kind in enumerate(KINDS)
    for causal in (False, True)
]


def inputs(q, k, seed=0):
    rng = torch.Generator().manual_seed(seed)
    sizes = ((HEADS, q, DIM), (KV_HEADS, k, DIM), (KV_HEADS, k, VALUE_DIM))
    return [torch.randn(BATCH, *size, generator=rng, dtype=torch.float64) for size in sizes]


def grid(q, k):
    return torch.meshgrid(torch.arange(q), torch.arange(k), indexing="ij")


def near(q, k, width):
    i, j = grid(q, k)
    return (i < j + width) & (j < i + width)


def near_or_global(q, k, width, first):
    i, j = grid(q, k)
    return near(q, k, width) | (i < first) | (j < first)


def next_blocks(q, k, size, first):
    i, j = (places // size for places in grid(q, k))
    return (i == j) | (i == j + 1) | (i + 1 == j) | (i < first) | (j < first)


PATTERNS = {
    "window 1": (window(1), lambda q, k: near(q, k, 1)),
    "window 19": (window(19), lambda q, k: near(q, k, 19)),
    "window": (window(), lambda q, k: near(q, k, 128)),
    "longformer": (longformer(19, 5), lambda q, k: near_or_global(q, k, 19, 5)),
    "longformer, none global": (longformer(7, 0), lambda q, k: near(q, k, 7)),
    "block_sparse": (block_sparse(17, 0, 1), lambda q, k: next_blocks(q, k, 17, 1)),
    "block_sparse, 2 global": (block_sparse(17, 0, 2), lambda q, k: next_blocks(q, k, 17, 2)),
    "block_sparse, none global": (block_sparse(17, 0, 0), lambda q, k: next_blocks(q, k, 17, 0)),
    "chunked": (MECHANISMS["chunked"], lambda q, k: torch.ones(q, k).bool()),
}
SMALL = {
    "window": window(3),
    "longformer": longformer(2, 1),
    "block_sparse": block_sparse(2, 1, 1),
    "topk": topk(2),
}
every_small = pytest.mark.parametrize("name", SMALL)


def masks(kind, q, k):
    """A mask, and who may look at whom by it."""
    rng = torch.Generator().manual_seed(1)
    padding = torch.ones(BATCH, 1, 1, k, dtype=torch.bool)
    padding[1, ..., k - 41 :] = False
    bias = torch.randn(HEADS, q, k, generator=rng, dtype=torch.float64)
    bias[:, :, 3] = -torch.inf
    return {"none": None, "padding": padding, "bias": bias}[kind]


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize(("length", "kind", "is_causal"), CASES)
def test_output_is_torchs_under_the_pattern_as_a_mask(name, length, kind, is_causal, monkeypatch):
    q, k = length
    monkeypatch.setattr(pattern, "TOGETHER", 3)
    monkeypatch.setattr(chunked, "QUERIES", 64)
    monkeypatch.setattr(chunked, "KEYS", 128)
    mechanism, pairs = PATTERNS[name]
    seen, mask = pairs(q, k), masks(kind, q, k)
    seen = seen & causal_mask(q, k) if is_causal else seen
    query, key, value = inputs(q, k)
    whole = torch.zeros(1, 1, q, k).double().masked_fill(~seen, -torch.inf)
    if mask is not None:
        added = torch.zeros(mask.shape).double()
        whole = whole + (mask if kind == "bias" else added.masked_fill(~mask, -torch.inf))
    blind = (whole == -torch.inf).all(dim=-1, keepdim=True)
    whole = whole.masked_fill(blind, 0)
    expected = F.scaled_dot_product_attention(query, key, value, attn_mask=whole, enable_gqa=True)
    output = mechanism.attend(query, key, value, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(output, expected.masked_fill(blind, 0))
    weights = mechanism.weights(query, key, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(weights @ value.repeat_interleave(2, dim=1), output)


@pytest.mark.parametrize("name", ["window 19", "longformer", "block_sparse", "chunked"])
def test_gradients_of_several_pieces_equal_those_of_the_whole_matrix(name):
    mechanism, _ = PATTERNS[name]
    leaves = [tensor.requires_grad_() for tensor in inputs(149, 301)]
    query, key, value = leaves
    output = mechanism.attend(*leaves, is_causal=True)
    whole = mechanism.weights(query, key, is_causal=True) @ value.repeat_interleave(2, dim=1)
    ours = torch.autograd.grad(output.square().sum(), leaves)
    torch.testing.assert_close(ours, torch.autograd.grad(whole.square().sum(), leaves))


def blocks_of(mechanism, q, k, size):
    """Which block of queries looks at which block of keys, read off the weights."""
    looks = mechanism.weights(*inputs(q, k)[:2])[0, 0] > 0
    parts = looks.unflatten(0, (-1, size)).unflatten(2, (-1, size))
    assert (parts.any(dim=1).any(dim=-1) == parts.all(dim=1).all(dim=-1)).all()
    return parts[:, 0, :, 0]


def test_random_blocks_are_added_to_near_and_first_ones_and_stay():
    table = blocks_of(block_sparse(3, 2, 1), 39, 39, 3)
    fixed = next_blocks(13, 13, 1, 1)
    assert (table | fixed).equal(table)
    assert (table & ~fixed)[1:].sum(dim=1).tolist() == [2] * 12
    assert table.equal(blocks_of(block_sparse(3, 2, 1), 39, 39, 3))
    assert not table.equal(blocks_of(block_sparse(3, 2, 1, seed=1), 39, 39, 3))


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize(("q", "k"), LENGTHS)
def test_random_blocks_are_those_of_the_weights(q, k, is_causal):
    mechanism = block_sparse(17, 3, 1)
    query, key, value = inputs(q, k)
    weights = mechanism.weights(query, key, is_causal=is_causal)
    output = mechanism.attend(query, key, value, is_causal=is_causal)
    torch.testing.assert_close(output, weights @ value.repeat_interleave(2, dim=1))


def test_topk_keeps_the_largest_scores_of_each_row():
    query, key, value = inputs(7, 11)
    scores = (query @ key.repeat_interleave(2, dim=1).mT * DIM**-0.5).masked_fill(
        ~causal_mask(7, 11), -torch.inf
    )
    fourth = scores.sort(dim=-1, descending=True).values[..., 3:4]
    expected = scores.masked_fill(scores < fourth, -torch.inf).softmax(dim=-1)
    torch.testing.assert_close(topk(4).weights(query, key, is_causal=True), expected)
    output = topk(4).attend(query, key, value, is_causal=True)
    torch.testing.assert_close(output, expected @ value.repeat_interleave(2, dim=1))
    assert "saves no time" in MECHANISMS["topk"].cost


NONSENSE = {
    "longformer": lambda: longformer(1, -1),
    "block_sparse": lambda: block_sparse(2, random=-1),
    "window": lambda: window(0),
}


@pytest.mark.parametrize("make", NONSENSE.values(), ids=NONSENSE)
def test_sizes_that_make_no_sense_are_told(make):
    with pytest.raises(InputError, match=r"wanted; .* came\."):
        make()


def test_another_size_has_a_name_of_its_own():
    defaults = {"window": window(), "longformer": longformer(), "topk": topk()}
    for name, mechanism in (defaults | {"block_sparse": block_sparse()}).items():
        assert mechanism.name == MECHANISMS[name].name == name
        assert SMALL[name].name not in MECHANISMS


def test_chunked_takes_a_twentieth_of_the_memory_of_standard():
    query, key, value = (torch.randn(1, 1, 4096, 8) for _ in range(3))
    peaks = [
        peak_bytes(lambda name=name: MECHANISMS[name].attend(query, key, value), query.device)
        for name in ("chunked", "standard")
    ]
    assert peaks[0] <= peaks[1] / 20


def test_chunked_keeps_no_whole_matrix_for_the_way_back(monkeypatch):
    monkeypatch.setattr(chunked, "QUERIES", 32)
    monkeypatch.setattr(chunked, "KEYS", 64)
    leaves = [torch.randn(1, 1, 1024, 8, requires_grad=True) for _ in range(3)]

    def step():
        MECHANISMS["chunked"].attend(*leaves).sum().backward()

    assert peak_bytes(step, leaves[0].device) < 1024 * 1024 * 4 / 4


def call(name, q=13, k=17, **changes) -> AttentionCall:
    query, key, _ = inputs(q, k)
    made = AttentionCall(query.float(), key.float(), None, False, 0.7, name, f"{name} (cpu)")
    return replace(made, **changes)


@every_small
@pytest.mark.parametrize("is_causal", [False, True])
def test_parts_of_a_routed_map_are_those_of_the_full_weights(name, is_causal, monkeypatch):
    monkeypatch.setitem(MECHANISMS, SMALL[name].name, SMALL[name])
    monkeypatch.setattr("core.maps.blocks.BLOCK_CELLS", 3 * 17)
    one = call(SMALL[name].name, is_causal=is_causal)
    full = SMALL[name].weights(one.query, one.key, is_causal=is_causal, scale=one.scale)
    whole = full[1, 2]
    torch.testing.assert_close(maps.head_map(one, 2, 1), whole)
    for q in range(13):
        torch.testing.assert_close(maps.row(one, 2, q, 1), whole[q])
    torch.testing.assert_close(maps.column(one, 2, 6, 1), whole[:, 6])
    torch.testing.assert_close(maps.tile(one, 2, (3, 11), (2, 7), 1), whole[3:11, 2:7])
    expected = F.max_pool2d(whole[None], (3, 4), ceil_mode=True)[0]
    torch.testing.assert_close(maps.pooled(one, 2, 5, batch=1), expected)


@every_small
def test_relevance_reads_the_rows_where_they_stand(name, monkeypatch):
    monkeypatch.setitem(MECHANISMS, SMALL[name].name, SMALL[name])
    one = call(SMALL[name].name)
    full = SMALL[name].weights(one.query, one.key, scale=one.scale)
    row = torch.zeros(13).index_fill(0, torch.tensor([5, 11]), 0.5)
    torch.testing.assert_close(attended(one, row, 1), row @ full[1])


@every_small
@pytest.mark.parametrize("twin", TWINS)
def test_every_model_runs_and_its_maps_explain_the_output(name, twin, monkeypatch):
    monkeypatch.setitem(MECHANISMS, SMALL[name].name, SMALL[name])
    made = TWINS[twin]()
    with torch.inference_mode(), capture(SMALL[name].name, verify_rows=3) as trace:
        made.fast(**made.inputs)
    assert len(trace.calls) == len(made.eager_maps)
    assert trace.error < 1e-5


@pytest.mark.parametrize("twin", TWINS)
@pytest.mark.parametrize("name", ["chunked", *SMALL])
def test_defaults_change_nothing_in_a_short_input(name, twin):
    made = TWINS[twin]()
    with torch.inference_mode(), capture(name) as trace:
        made.fast(**made.inputs)
    for one, eager in zip(trace.calls, made.eager_maps, strict=True):
        if name != "topk" or eager.shape[-1] <= 32:
            torch.testing.assert_close(maps.head_map(one, 1), eager[0, 1], atol=1e-5, rtol=0)
