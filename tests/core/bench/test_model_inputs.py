"""q, k and v of a real model: taken from its own call, measured on, and gone afterwards."""

import tempfile
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode

from core.attention import MECHANISMS
from core.attention.common.grid import Grid
from core.bench.results.summary import verdict
from core.bench.sweep import measuring, turns
from core.bench.sweep.accuracy import accuracy, checked_rows, rows_of, softmax_rows
from core.bench.sweep.inputs import attend_like, read, write
from core.bench.sweep.messages import Accuracy, Finished, Memory, Refused, Timing
from core.bench.sweep.model_inputs import record_call
from core.bench.sweep.plan import Plan, check
from core.bench.sweep.saved import Results, from_json, of_kind, to_json
from core.bench.sweep.sweep import Sweep
from core.capture.trace import AttentionCall
from core.errors import InputError
from core.models.text.model import TextModel
from tests.core.bench import stand_in
from tests.core.models.text.tiny_text import bert_module, decoder, word_piece

ARMS = ("standard", "flash", "linear")
PLAN = Plan(mechanisms=ARMS, rounds=5, threads=1)
TEXT = "the cat sat"


class Seen(TorchFunctionMode):
    """What every call of torch's attention was given, by another way than ours."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is F.scaled_dot_product_attention:
            self.calls.append((args, kwargs or {}))
        return func(*args, **(kwargs or {}))


def masked_call(dtype=torch.bool):
    """Grouped heads, a mask of its own for each row, and a scale that is not the usual one."""
    rng = torch.Generator().manual_seed(0)
    query = torch.randn(1, 6, 11, 5, generator=rng)
    key, value = torch.randn(2, 1, 2, 11, 5, generator=rng)
    mask = torch.rand(1, 1, 11, 11, generator=rng) < 0.6
    mask[..., 0] = True
    if dtype != torch.bool:
        mask = torch.zeros(mask.shape).masked_fill(~mask, -torch.inf)
    return AttentionCall(query, key, mask, False, 0.7, None, "", value=value)


def reference(call):
    tensors = (call.query.double(), call.key.double(), call.value.double())
    mask = call.mask if call.mask.dtype == torch.bool else call.mask.double()
    how = {"attn_mask": mask, "scale": call.scale, "enable_gqa": True}
    return F.scaled_dot_product_attention(*tensors, **how)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_what_is_taken_is_what_the_layer_was_given(layer):
    model = decoder("llama")
    found = record_call(model, TEXT, layer)
    with Seen() as seen, torch.inference_mode():
        model.forward(model.prepare(TEXT))
    (query, key, value), how = seen.calls[layer][0][:3], seen.calls[layer][1]
    for mine, theirs in zip(
        (found.call.query, found.call.key, found.call.value), (query, key, value), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
    assert found.call.is_causal == how["is_causal"] is True
    assert (found.layers, len(found.positions)) == (3, len(TEXT))
    assert found.origin.kv_heads == 2
    assert found.origin.label == TEXT


def test_the_model_ends_with_the_layer_and_every_call_before_is_let_go():
    model, reached = decoder("llama"), []
    for block in model.module.model.layers:
        block.register_forward_hook(lambda *_: reached.append(1))
    shares = []
    found = record_call(model, TEXT, 1, on_call=shares.append)
    assert len(reached) == 1  # of three
    assert shares == [0.5]
    assert found.nbytes == 4 * (found.call.query.numel() + 2 * found.call.key.numel())


def test_a_layer_that_is_not_there_is_named():
    model = TextModel(bert_module(), word_piece(), "tiny")
    with pytest.raises(InputError, match=r"'tiny': a layer from 0 to 1 was wanted; 2 came\."):
        record_call(model, "the cat", 2)


def test_the_plan_has_the_sizes_of_the_call():
    found = record_call(decoder("llama"), TEXT, 0)
    plan = found.plan(replace(PLAN, batch=7, heads=9))
    assert (plan.batch, plan.heads, plan.dim, plan.lengths) == (1, 4, 6, (len(TEXT),))
    assert plan.causal
    assert not plan.by_formula  # two heads share each key head
    check(plan)
    again = from_json(to_json(Results(plan, (), False))).plan
    assert again == plan
    assert again.origin.digest == found.origin.digest


def test_a_call_comes_back_from_its_file(tmp_path):
    # One packed projection, as timm has it: three views of one memory.
    query, key, value = torch.randn(2, 7, 3, 3, 5).permute(2, 0, 3, 1, 4).unbind(0)
    call = AttentionCall(query, key, None, True, 0.3, None, "", value=value, grid=Grid(2, 3, 1))
    write(call, tmp_path / "one")
    again = read(tmp_path / "one", torch.device("cpu"))
    for name in ("query", "key", "value"):
        assert torch.equal(getattr(again, name), getattr(call, name))
    assert (again.mask, again.is_causal, again.scale, again.grid) == (None, True, 0.3, call.grid)
    with pytest.raises(ValueError, match="one without came"):
        write(replace(call, value=None), tmp_path / "two")


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
def test_mask_scale_and_shared_heads_of_a_call_are_those_of_torch(dtype):
    call = masked_call(dtype)
    tensors, rows = (call.query, call.key, call.value), checked_rows(11, 5)
    softmax = softmax_rows(*tensors, False, mask=call.mask, scale=call.scale)
    torch.testing.assert_close(softmax.output, reference(call)[:, :, rows])
    for mechanism in ("standard", "flash", "chunked"):
        found = rows_of(attend_like(mechanism, call), *tensors, False)
        told = accuracy(mechanism, 11, found, softmax)
        assert told.output_error < 1e-6
        assert told.worst_variation < 1e-5


def test_a_mechanism_that_cannot_take_the_mask_is_refused_and_the_others_go_on():
    call = masked_call()
    origin = replace(record_call(decoder("llama"), TEXT, 0).origin, kv_heads=2, masked=True)
    plan = replace(PLAN, lengths=(11,), heads=6, dim=5, origin=origin)
    found = list(measuring.measured(plan, call, alone=False))
    (refused,) = of_kind(found, Refused)
    assert refused.mechanism == "linear"
    assert "mask" in refused.reason
    assert {each.mechanism for each in of_kind(found, Timing)} == {"standard", "flash"}
    assert all(each.formula is None for each in of_kind(found, Memory))


def test_rounds_see_the_same_numbers_in_new_memory():
    call = masked_call()
    one, two = (turns.fresh(PLAN, 11, number, call) for number in range(2))
    for first, second, own in zip(one, two, (call.query, call.key, call.value), strict=True):
        assert torch.equal(first, own)
        assert len({tensor.data_ptr() for tensor in (first, second, own)}) == 3


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where temporary files go; nothing may be left in it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield tmp_path
    assert list(tmp_path.iterdir()) == []


def sweep_of(plan=PLAN):
    found = record_call(decoder("llama"), TEXT, 1)
    return Sweep(found.plan(plan), model_call=found.call)


@pytest.mark.processes
def test_a_sweep_on_the_call_of_a_model_leaves_no_file(folder):
    run = sweep_of()
    files = set()
    for message in run:
        if isinstance(message, Accuracy):
            files |= {path.name for path in folder.rglob("*.safetensors")}
    assert isinstance(run.messages[-1], Finished)
    assert files == set()  # gone as soon as it was read
    exact = [each for each in of_kind(run.messages, Accuracy) if MECHANISMS[each.mechanism].exact]
    assert {each.mechanism for each in exact} == {"standard", "flash"}
    assert all(each.total_variation < 1e-6 for each in exact)
    assert (
        verdict(run.results)
        .sentence()
        .startswith(f"On your sentence, {len(TEXT)} tokens, on this CPU, ")
    )


def test_a_run_that_is_cut_off_leaves_no_file_either(folder, monkeypatch):
    stand_in.put(monkeypatch)  # this child does not even read the file
    endless = replace(PLAN, rounds=1000, most_seconds=1e9)
    run = sweep_of(endless)
    results = iter(run)
    next(results)
    run.cancel()
    assert not any(isinstance(each, Finished) for each in results)
    run = sweep_of(endless)
    run.cancel()
    assert list(run) == []
    run = sweep_of(endless)
    results = iter(run)
    next(results)
    run._child.kill()
    with pytest.raises(InputError, match="SIGKILL"):
        list(results)


def test_training_on_values_of_another_width_is_refused():
    origin = replace(record_call(decoder("llama"), TEXT, 0).origin, value_dim=7)
    plan = replace(PLAN, lengths=(11,), dim=5, origin=origin, backward=True)
    with pytest.raises(InputError, match=r"\(5\) were wanted .* are 7 wide\."):
        check(plan)
