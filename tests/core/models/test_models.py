"""Models by name, and what every model's run promises: progress, nothing left behind, sentences."""

import gc

import pytest
import timm
import torch
import transformers as hf
from torch import nn
from torch.overrides import _get_current_function_mode_stack

from core import maps
from core.capture import capture
from core.errors import InputError, OutOfMemoryError
from core.models import MODELS, OFFLINE, SOURCES, devices, load
from core.models.clip.names import is_clip
from core.models.files import weights
from core.models.model import Model
from core.models.run import Output, Prepared
from core.models.text.model import TextModel
from core.types import Group, Position
from tests.core.words import bert_tokenizer

HUB_IS_OFF = "huggingface_hub.constants.HF_HUB_OFFLINE"


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(HUB_IS_OFF, True)


def bert():
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=3, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31,
    )  # fmt: skip
    module = hf.BertModel._from_config(config, attn_implementation="sdpa")
    return TextModel(module, bert_tokenizer(), "tiny")


class ByHand(Model):
    """A model that multiplies its own softmax, as an old or a home-made one does."""

    name, title, kind = "by-hand", "By hand", "text"
    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, given=(), calls=2, fails=None):
        self.module, self.given, self.calls, self.fails = nn.Identity(), given, calls, fails

    def prepare(self, given):
        positions = (tuple(Position(word) for word in given.split()),)
        group = Group("self-attention", tuple(range(self.calls)), positions, positions, (0,), (0,))
        return Prepared({"x": torch.ones(1, len(positions[0]), 3)}, (group,))

    def forward(self, prepared):
        if self.fails is not None:
            raise self.fails
        x = prepared.tensors["x"]
        hidden = (x @ x.mT).softmax(dim=-1) @ x
        return Output(hidden, hidden.mean(dim=1))

    def own_maps(self, prepared):
        return self.given


@pytest.mark.parametrize("name", MODELS)
def test_every_entry_says_what_it_is(name):
    entry = MODELS[name]
    assert entry.kind in ("text", "vision", "clip")
    assert entry.where == ("offline" if name in OFFLINE else "hub")
    assert entry.title.strip()
    assert entry.about.endswith(".")
    # A name of the hub is that of a library that reads its kind: timm, open_clip or transformers.
    assert timm.is_model(name) == (entry.kind == "vision" and entry.where == "hub")
    assert is_clip(name) == (entry.kind == "clip" and entry.where == "hub")


def test_models_that_need_no_hub_have_pinned_weights_and_come_first():
    assert list(MODELS)[: len(OFFLINE)] == list(OFFLINE)
    assert list(SOURCES) == list(OFFLINE)
    assert {part for parts in SOURCES.values() for part in parts} <= set(weights.SOURCES)


@pytest.mark.parametrize("name", ["", "   ", "\n"])
def test_a_blank_name_is_refused(name):
    with pytest.raises(InputError, match="name of a model or a folder was wanted; nothing came"):
        load(name)


@pytest.mark.parametrize("name", ["nobody/nothing", "no-such-model", "a" * 97])
def test_an_unknown_name_is_one_sentence(offline, name):
    with pytest.raises(InputError, match=name) as refused:
        load(name)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", ["a" * 997, "~nobody-of-this-name/model"])
def test_a_name_that_no_folder_can_have_is_one_sentence(offline, name):
    with pytest.raises(InputError, match="The name of a model or a folder was wanted"):
        load(name)


@pytest.mark.parametrize("name", ["./no-such-folder", "/no/such/folder"])
def test_a_folder_that_is_not_there_is_named(offline, name):
    with pytest.raises(InputError, match=f"there is no folder '{name}'"):
        load(name)


def test_a_name_that_was_mistyped_brings_the_right_one(offline):
    with pytest.raises(InputError, match=r"Did you mean bert-base-uncased\?$"):
        load("bert-base-uncasd")


def test_a_right_name_without_a_hub_is_not_asked_back(offline):
    with pytest.raises(InputError, match="hub cannot be reached") as refused:
        load("gpt2")
    assert "Did you mean" not in str(refused.value)


@pytest.mark.parametrize("device", ["cuda:97", "tpu", "", "cpu:x", "auto:1", "CPU"])
def test_a_device_that_is_not_there_is_refused(device):
    with pytest.raises(InputError, match="A device of this machine was wanted") as refused:
        load("minilm", device=device)
    assert f"'{device}' came" in str(refused.value)


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a CUDA device")
def test_cuda_is_refused_where_there_is_none():
    with pytest.raises(InputError, match=r"\(auto, cpu.*\); 'cuda' came"):
        load("minilm", device="cuda")


@pytest.mark.parametrize("precision", ["int8", "", "float64"])
def test_an_unknown_precision_is_refused(precision):
    with pytest.raises(InputError, match="A precision that works on cpu was wanted") as refused:
        load("minilm", device="cpu", precision=precision)
    assert f"'{precision}' came" in str(refused.value)


def test_devices_and_precisions_are_those_that_work():
    assert devices.devices()[:2] == ("auto", "cpu")
    assert str(devices.resolve("auto")) in devices.devices()
    for device in devices.devices():
        assert "float32" in devices.precisions(device)


def test_progress_grows_to_1():
    told = []
    run = bert().run(["the cat", "the cat sat"], on_call=told.append)
    assert told == pytest.approx([1 / 3, 2 / 3, 1.0])
    assert len(run.trace.calls) == 3
    assert run.trace.error < 1e-5
    assert set(run.versions) == {"torch", "transformers", "timm", "open_clip_torch"}


class StopError(Exception):
    """What a visitor's Cancel raises."""


def test_a3_a_run_that_is_stopped_leaves_nothing_behind():
    model = bert()

    def stop(share):
        if share > 0.5:
            raise StopError

    def tensors():
        gc.collect()
        return sum(issubclass(type(thing), torch.Tensor) for thing in gc.get_objects())

    wanted = model.run("the cat sat").output.hidden
    before = tensors()
    for mechanism in (None, "linear") * 5:
        with pytest.raises(StopError):
            model.run("the cat sat", mechanism, on_call=stop)
    assert tensors() == before
    assert not _get_current_function_mode_stack()
    assert not torch.is_inference_mode_enabled()
    assert not any(module._forward_hooks for module in model.module.modules())
    with capture():  # none is still open
        pass
    torch.testing.assert_close(model.run("the cat sat").output.hidden, wanted)


def test_a_model_that_attends_by_hand_is_refused_in_a_sentence():
    with pytest.raises(InputError, match="'by-hand' computes attention by itself"):
        ByHand().run("one two three")


def test_a_model_that_attends_by_hand_shows_the_librarys_own_maps():
    given = tuple(torch.rand(1, 5, 3, 3).softmax(dim=-1) for _ in range(2))
    run = ByHand(given).run("one two three")
    assert run.trace.kernels == "eager (library's own maps)"
    for layer, head in ((0, 0), (1, 4)):
        found = maps.head_map(run.trace.calls[layer], head)
        torch.testing.assert_close(found, given[layer][0, head])
    with pytest.raises(InputError, match="neither recorded nor routed"):
        ByHand(given).run("one two three", "linear")


def test_transformers_eager_maps_stand_in_for_a_model_without_fused_attention():
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31,
    )  # fmt: skip
    module = hf.BertModel._from_config(config, attn_implementation="eager")
    model = TextModel(module, bert_tokenizer(), "tiny")
    run = model.run("the cat sat")
    with torch.inference_mode():
        wanted = module(**run.prepared.tensors, output_attentions=True).attentions
    for layer in range(2):
        torch.testing.assert_close(maps.head_map(run.trace.calls[layer], 3), wanted[layer][0, 3])


def test_maps_that_cannot_be_told_apart_by_layer_are_refused():
    given = (torch.rand(1, 5, 3, 3),)
    with pytest.raises(InputError, match="expected to attend 2 times and did so 1 times"):
        ByHand(given).run("one two three")


@pytest.mark.parametrize("name", ["nothing", "Standard", ""])
def test_an_unknown_mechanism_is_a_sentence(name):
    with pytest.raises(InputError, match=f"One of standard, .* was wanted; '{name}' came"):
        bert().run("the cat sat", name)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes."),
        RuntimeError("MPS backend out of memory (MPS allocated: 9 GB)."),
        torch.OutOfMemoryError("CUDA out of memory."),
        MemoryError(),
    ],
    ids=["CPU", "Windows", "MPS", "CUDA", "Python"],
)
def test_memory_that_ran_out_is_a_sentence(error):
    with pytest.raises(OutOfMemoryError, match="not enough memory to run 'by-hand'") as refused:
        ByHand(fails=error).run("one two three")
    assert refused.value.__cause__ is error


def test_what_torch_says_when_memory_runs_out_is_known():
    with pytest.raises(RuntimeError) as refused:
        torch.empty(2**45)
    with pytest.raises(OutOfMemoryError):
        ByHand(fails=refused.value).run("one two three")


def test_any_other_error_passes_as_it_is():
    with pytest.raises(RuntimeError, match="^shapes differ$"):
        ByHand(fails=RuntimeError("shapes differ")).run("one two three")
