"""Capture: what is recorded from real libraries' models, and that nothing of it sticks."""

import gc
import threading

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.attention.common.grid import Grid
from core.capture import capture
from core.capture.trace import Trace
from core.errors import MechanismError
from core.maps import allowed_cells, head_map
from tests.core.attention.runnable import RUNNABLE
from tests.core.tiny import TWINS, Twin, ids, llama


def traced(twin: Twin, mechanism: str | None = None) -> Trace:
    with torch.inference_mode(), capture(mechanism) as trace:
        twin.fast(**twin.inputs)
    return trace


def whole(trace: Trace, layer: int) -> Tensor:
    call = trace.calls[layer]
    batches, heads = call.query.shape[:2]
    return torch.stack(
        [torch.stack([head_map(call, head, b) for head in range(heads)]) for b in range(batches)]
    )


@pytest.fixture
def qkv() -> list[Tensor]:
    rng = torch.Generator().manual_seed(0)
    return [torch.randn(2, 3, length, 5, generator=rng) for length in (7, 11, 11)]


@pytest.mark.parametrize("name", TWINS)
def test_t1_one_map_per_layer_and_head_equal_to_the_eager_twin(name):
    twin = TWINS[name]()
    trace = traced(twin)
    assert len(trace.calls) == len(twin.eager_maps)
    for layer, eager in enumerate(twin.eager_maps):
        torch.testing.assert_close(whole(trace, layer), eager, atol=1e-5, rtol=0)


def test_t2_a_causal_map_is_exactly_zero_above_the_diagonal():
    trace = traced(TWINS["llama"]())
    assert (whole(trace, 0).triu(1) == 0).all()


def test_t2_keys_outside_a_sliding_window_weigh_exactly_zero():
    maps = whole(traced(TWINS["mistral"]()), 1)
    q, k = torch.meshgrid(torch.arange(11), torch.arange(11), indexing="ij")
    seen = (k <= q) & (k > q - 3)
    assert (maps[:, :, ~seen] == 0).all()
    assert (maps[:, :, seen] > 0).all()


def test_t2_padding_columns_weigh_exactly_zero():
    maps = whole(traced(TWINS["bert"]()), 0)
    assert (maps[1, :, :, 5:] == 0).all()
    assert (maps[0, :, :, 5:] > 0).all()


@pytest.mark.parametrize("mechanism", [None, *RUNNABLE])
def test_t3_a_left_padded_row_without_allowed_key_is_zero_and_marked(mechanism):
    padding = torch.tensor([[1] * 5, [0] * 3 + [1] * 2])
    twin = llama(input_ids=ids(2, 5), attention_mask=padding)
    trace = traced(twin, mechanism)
    call = trace.calls[0]
    for head in range(4):
        weights = head_map(call, head, batch=1)
        assert (weights[:3] == 0).all()
        torch.testing.assert_close(weights[3:].sum(dim=-1), torch.ones(2))
        marked = ~allowed_cells(call, head, batch=1).any(dim=-1)
        assert marked.tolist() == [True] * 3 + [False] * 2
    assert all(torch.isfinite(whole(trace, layer)).all() for layer in range(3))


@pytest.mark.parametrize("mechanism", [None, *RUNNABLE])
def test_t3_a_fully_masked_query_looks_at_nothing_and_gives_zeros(mechanism, qkv):
    mask = torch.ones(2, 1, 1, 11, dtype=torch.bool)
    mask[1] = False
    with capture(mechanism) as trace:
        output = F.scaled_dot_product_attention(*qkv, attn_mask=mask)
    assert (output[1] == 0).all()
    assert (head_map(trace.calls[0], 0, batch=1) == 0).all()


def test_t4_head_h_reads_kv_head_h_over_group():
    call = traced(TWINS["llama"]()).calls[0]
    assert call.key.shape[1] == 2
    assert [call.kv_head(head) for head in range(4)] == [0, 0, 1, 1]


def test_t5_an_encoder_decoder_gives_three_kinds_of_maps():
    shapes = [(c.query.shape[2], c.key.shape[2]) for c in traced(TWINS["t5"]()).calls]
    assert shapes == [(4, 4)] * 2 + [(3, 3), (3, 4)] * 3


@pytest.mark.parametrize("name", TWINS)
@pytest.mark.parametrize("mechanism", ["standard", "flash"])
def test_an_exact_mechanism_leaves_the_output_as_it_was(name, mechanism):
    twin = TWINS[name]()
    with torch.inference_mode():
        own = twin.fast(**twin.inputs)
        with capture(mechanism) as trace:
            routed = twin.fast(**twin.inputs)
    if not isinstance(own, Tensor):
        own, routed = own[0], routed[0]
    torch.testing.assert_close(routed, own, atol=1e-5, rtol=1e-4)
    assert {call.mechanism for call in trace.calls} == {mechanism}


def test_a_routed_call_maps_by_its_own_mechanism(qkv):
    with capture("linear") as trace:
        output = F.scaled_dot_product_attention(*qkv)
    weights = whole(trace, 0)
    torch.testing.assert_close(weights @ qkv[2], output)
    # Katharopoulos et al. 2020, written out.
    query, key = F.elu(qkv[0]) + 1, F.elu(qkv[1]) + 1
    scores = query @ key.mT
    torch.testing.assert_close(weights, scores / scores.sum(dim=-1, keepdim=True))


@pytest.mark.parametrize("mechanism", ["linear", "favor"])
def test_a_mechanism_that_cannot_take_a_mask_says_so_by_name(mechanism):
    with pytest.raises(MechanismError, match=mechanism):
        traced(TWINS["t5"](), mechanism)


def test_the_kernel_that_ran_is_named(qkv):
    query, key, value = qkv
    with capture() as trace:
        F.scaled_dot_product_attention(query, key, value)
        F.scaled_dot_product_attention(query, key, value[..., :4])  # another width: maths
    assert [call.kernel for call in trace.calls] == ["flash (cpu)", "maths (cpu)"]


def test_unusual_layouts_are_recorded_with_four_axes():
    with capture() as trace:
        three = F.scaled_dot_product_attention(*torch.randn(3, 3, 7, 5))
        five = F.scaled_dot_product_attention(*torch.randn(3, 2, 3, 2, 7, 5))
    assert three.shape == (3, 7, 5)
    assert five.shape == (2, 3, 2, 7, 5)
    assert trace.calls[0].query.shape == (1, 3, 7, 5)
    assert trace.calls[1].query.shape == (6, 2, 7, 5)


@pytest.mark.parametrize("average", [True, False])
def test_multihead_attention_still_gives_the_weights_it_was_asked_for(average):
    torch.manual_seed(0)
    layer = nn.MultiheadAttention(20, 5, batch_first=True).eval()
    x = torch.randn(2, 7, 20)
    want = layer(x, x, x, average_attn_weights=average)
    with capture() as trace:
        output, weights = layer(x, x, x, average_attn_weights=average)
    torch.testing.assert_close(output, want[0])
    torch.testing.assert_close(weights, want[1])
    assert len(trace.calls) == 1


def test_verification_sees_the_right_kernel_and_a_wrong_one(qkv):
    with capture(verify_rows=3) as trace:
        F.scaled_dot_product_attention(*qkv)
    assert trace.error < 1e-6
    assert trace.calls[0].value is None
    assert trace.calls[0].output is None


def test_a_view_of_a_large_cache_is_copied_and_a_packed_projection_is_not():
    cache = torch.randn(1, 3, 64, 5)
    packed = torch.randn(1, 7, 3, 3, 5).permute(2, 0, 3, 1, 4)
    with capture() as trace:
        F.scaled_dot_product_attention(cache[:, :, :7], cache[:, :, :7], cache[:, :, :7])
        F.scaled_dot_product_attention(*packed)
    kept, shared = trace.calls
    assert kept.key.data_ptr() != cache.data_ptr()
    assert shared.query.data_ptr() == packed.data_ptr()
    assert trace.nbytes == 2 * kept.query.nbytes + packed.nbytes


def test_a_nested_capture_is_refused_and_the_outer_one_goes_on(qkv):
    with capture() as trace:
        with pytest.raises(ValueError, match="already open"), capture():
            pass
        F.scaled_dot_product_attention(*qkv)
    assert len(trace.calls) == 1


def test_an_unknown_mechanism_is_named():
    with pytest.raises(ValueError, match="'magic' came"), capture("magic"):
        pass


def test_threads_do_not_see_each_others_calls(qkv):
    traces: list[int] = []
    meet = threading.Barrier(3)

    def work(times: int) -> None:
        with capture() as trace:
            meet.wait()
            for _ in range(times):
                F.scaled_dot_product_attention(*qkv)
            meet.wait()
        traces.append(len(trace.calls))

    threads = [threading.Thread(target=work, args=(times,)) for times in (2, 3, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(traces) == [2, 3, 5]


def test_a3_nothing_sticks_after_runs_that_alternate_and_one_that_raises():
    twins = [TWINS["bert"](), TWINS["torch_encoder"]()]

    def state() -> tuple[int, int]:
        gc.collect()
        tensors = sum(issubclass(type(item), Tensor) for item in gc.get_objects())
        return torch._C._len_torch_function_stack(), tensors

    def once(turn: int) -> None:
        traced(twins[turn % 2], ["standard", None, "linear"][turn % 3])

    once(0), once(1), once(2)
    before = state()
    for turn in range(20):
        once(turn)
    with pytest.raises(RuntimeError, match="stop"), capture("linear", on_call=stop):
        twins[0].fast(**twins[0].inputs)
    assert state() == before
    with torch.inference_mode():  # the mechanism is back to the model's own
        own = traced(twins[0])
    assert {call.mechanism for call in own.calls} == {None}


def stop(count: int) -> None:
    if count == 2:
        raise RuntimeError("stop")


def test_a_device_that_cannot_name_its_kernel_is_not_asked(monkeypatch):
    def no_kernel(*_, **__):
        raise NotImplementedError("not implemented for this device")

    monkeypatch.setattr(torch, "_fused_sdp_choice", no_kernel)
    with capture() as trace:
        F.scaled_dot_product_attention(*(torch.empty(2, 3, 7, 5, device="meta"),) * 3)
    assert trace.kernels == "PyTorch's own (meta)"


@pytest.mark.parametrize("mechanism", [None, "standard", "flash"])
@pytest.mark.parametrize("batches", [(2, 1, 1), (1, 2, 2), (2, 2, 1)])
def test_a_batch_that_torch_broadcasts_is_recorded_for_each_item(batches, mechanism):
    rng = torch.Generator().manual_seed(0)
    query, key, value = (torch.randn(batch, 2, 7, 5, generator=rng) for batch in batches)
    expected = F.scaled_dot_product_attention(query, key, value)
    with capture(mechanism, verify_rows=7) as trace:
        output = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(output, expected)
    assert trace.error < 1e-5
    scores = query @ key.mT * 5**-0.5
    torch.testing.assert_close(whole(trace, 0), scores.softmax(dim=-1).expand(2, 2, 7, 7))
    assert trace.nbytes == query.nbytes + key.nbytes


def test_a_small_view_of_a_cache_is_copied_before_it_is_broadcast():
    cache = torch.randn(1, 2, 97, 5)
    with capture() as trace:
        F.scaled_dot_product_attention(torch.randn(2, 2, 7, 5), *(cache[:, :, :7],) * 2)
    assert trace.nbytes == (2 + 1) * 2 * 7 * 5 * 4


def test_only_the_layers_that_are_named_are_routed():
    twin = TWINS["llama"]()
    with torch.inference_mode(), capture("linear", layers={1}) as trace:
        twin.fast(**twin.inputs)
    assert [call.mechanism for call in trace.calls] == [
        None,
        "linear",
        *[None] * (len(trace.calls) - 2),
    ]


def test_the_grid_of_a_picture_is_kept_with_calls_of_its_length_only(qkv):
    query, key, value = qkv
    with capture(grid=Grid(2, 3, prefix=1)) as trace:
        torch.nn.functional.scaled_dot_product_attention(query, key, value)
        torch.nn.functional.scaled_dot_product_attention(key, key, value)
    assert [call.grid for call in trace.calls] == [Grid(2, 3, 1), None]
