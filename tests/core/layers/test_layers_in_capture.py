"""Every layer with attention is seen by capture, with the mechanism that really ran."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from core.attention.common.masks import padding_mask
from core.capture import capture
from core.layers import (
    AttentionPooling,
    EncoderBlock,
    MeanQueryPooling,
    MultiHeadAttention,
    SelfAttention,
    SeparateHeads,
)
from core.maps import head_map
from tests.core.attention.runnable import RUNNABLE

DIM, HEADS, POSITIONS = 12, 3, 7
LAYERS = {
    "self": lambda mechanism: SelfAttention(DIM, mechanism=mechanism),
    "multi": lambda mechanism: MultiHeadAttention(DIM, HEADS, mechanism=mechanism),
    "separate": lambda mechanism: SeparateHeads(DIM, HEADS, mechanism=mechanism),
    "block": lambda mechanism: EncoderBlock(DIM, HEADS, mechanism=mechanism),
    "pooling": lambda mechanism: AttentionPooling(DIM, HEADS, mechanism=mechanism),
    "mean query": lambda mechanism: MeanQueryPooling(DIM, HEADS, (2, 3), mechanism=mechanism),
}
INNER = (None, *RUNNABLE)
PAIRS = [(layer, inner) for layer in LAYERS for inner in INNER]


# Each layer with each mechanism of the capture, over another one of its own each time; CROSSED has
# every pair of the two. What is left of the products is slow.
ROUTED = [
    pytest.param(
        name, inner, outer,
        marks=[] if (row + column) % len(INNER) == 2 * place else pytest.mark.slow,
    )
    for place, name in enumerate(LAYERS)
    for row, inner in enumerate(INNER)
    for column, outer in enumerate(RUNNABLE)
]  # fmt: skip
CROSSED = [
    pytest.param(
        inner, outer, causal, marks=[] if (row + column) % 2 == causal else pytest.mark.slow
    )
    for row, inner in enumerate(INNER)
    for column, outer in enumerate(INNER)
    for causal in (False, True)
]


def built(name, mechanism):
    torch.manual_seed(0)
    layer = LAYERS[name](mechanism).eval()
    shape = (2, DIM, 2, 3) if name == "mean query" else (2, POSITIONS, DIM)
    return layer, torch.randn(shape)


def output_of(layer, x):
    result = layer(x)
    return result if isinstance(result, torch.Tensor) else result[0]


def maps(call):
    return torch.stack(
        [
            torch.stack([head_map(call, head, batch) for head in range(call.heads)])
            for batch in range(len(call.query))
        ]
    )


@pytest.mark.parametrize(("name", "mechanism"), PAIRS)
def test_a_layers_own_mechanism_runs_alike_and_is_recorded(name, mechanism):
    layer, x = built(name, mechanism)
    plain = output_of(layer, x)
    with capture() as trace:
        seen = output_of(layer, x)
    torch.testing.assert_close(seen, plain, atol=0, rtol=0)
    assert len(trace.calls) == (HEADS if name == "separate" else 1)
    assert {call.mechanism for call in trace.calls} == {mechanism}
    assert trace.kernels == f"{mechanism or 'flash'} (cpu)"


@pytest.mark.parametrize(("name", "mechanism", "outer"), ROUTED)
def test_the_captures_mechanism_goes_before_the_layers(name, mechanism, outer):
    expected = output_of(*built(name, outer))
    layer, x = built(name, mechanism)
    with capture(outer) as trace:
        routed = output_of(layer, x)
    torch.testing.assert_close(routed, expected, atol=0, rtol=0)
    assert {call.mechanism for call in trace.calls} == {outer}


@pytest.mark.parametrize(("mechanism", "outer", "is_causal"), CROSSED)
def test_the_map_of_the_capture_is_the_weights_that_the_layer_returns(mechanism, outer, is_causal):
    layer, x = built("multi", mechanism)
    mask = padding_mask(torch.tensor([POSITIONS, 4]), POSITIONS)
    how = {"mask": mask, "is_causal": is_causal, "need_weights": True}
    with capture(outer, verify_rows=3) as trace:
        weights = layer(x, **how).weights
    torch.testing.assert_close(maps(trace.calls[0]), weights)
    assert trace.error < 1e-5
    layer.mechanism = outer or mechanism
    torch.testing.assert_close(layer(x, **how).weights, weights)


def test_linear_maps_of_a_layer_are_its_own_formula():
    layer, x = built("self", "linear")
    with capture() as trace:
        layer(x)
    query, key = F.elu(layer.query(x)) + 1, F.elu(layer.key(x)) + 1
    scores = query @ key.mT
    torch.testing.assert_close(maps(trace.calls[0])[:, 0], scores / scores.sum(-1, keepdim=True))


@pytest.mark.parametrize("mechanism", INNER)
def test_t3_a_blind_row_is_recorded_as_blind(mechanism):
    layer, x = built("multi", mechanism)
    mask = padding_mask(torch.tensor([POSITIONS, 0]), POSITIONS)
    with capture() as trace:
        layer(x, mask=mask)
    assert (maps(trace.calls[0])[1] == 0).all()


@pytest.mark.parametrize("mechanism", ["linear", "favor"])
def test_a_mask_that_a_mechanism_cannot_take_is_refused_by_name(mechanism):
    layer, x = built("multi", mechanism)
    mask = torch.eye(POSITIONS, dtype=torch.bool)
    with pytest.raises(ValueError, match=f"^{mechanism}: masks of keys"):
        layer(x, mask=mask)
    with capture() as trace, pytest.raises(ValueError, match=f"^{mechanism}: masks of keys"):
        layer(x, mask=mask)
    assert trace.calls == []


def test_a_half_precision_layer_with_a_float32_mask_is_recorded():
    layer, x = built("multi", None)
    mask = torch.zeros(POSITIONS).index_fill(0, torch.tensor([2]), -torch.inf)
    with capture() as trace:
        layer.bfloat16()(x.bfloat16(), mask=mask)
    assert (maps(trace.calls[0])[..., 2] == 0).all()


def test_a_capture_that_records_nothing_still_routes_and_counts():
    layer, x = built("block", "flash")
    counts = []
    with capture("linear", record=False, on_call=counts.append) as trace:
        routed = layer(x)
    torch.testing.assert_close(routed, output_of(*built("block", "linear")), atol=0, rtol=0)
    assert counts == [1]
    assert trace.calls == []


def test_gradients_flow_through_a_recorded_layer():
    layer, x = built("block", "linear")
    with capture():
        layer(x).sum().backward()
    assert layer.attention.query.weight.grad.abs().sum() > 0
