"""A whole model by every mechanism: what moves, which layer does it, and what is refused."""

from statistics import median

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from timm.models import VisionTransformer

from core.bench.formulas import formula
from core.bench.model import fit, measuring
from core.bench.model.drift import final, output_drift
from core.bench.model.measuring import OWN, Variant, layer_drift, measure_model
from core.bench.model.passes import Passes
from core.errors import InputError
from core.models.run import Output
from core.models.vision.images import Picture
from core.models.vision.model import VisionModel
from core.types import Prediction
from tests.core.models.test_models import ByHand
from tests.core.models.text.tiny_text import decoder

TEXT = "the cat sat on a mat"


class LeftError(Exception):
    """What a caller raises to stop."""


@pytest.fixture
def gpt2():
    model = decoder("gpt2")
    for block in model.module.transformer.h:  # fresh weights are so small that all rows are flat
        block.attn.c_attn.weight *= 30
    return model


def ours(found, mechanism, layers=None):
    return next(each for each in found if each.variant == Variant(mechanism, layers))


def linear_by_hand(query, key, value):
    """Causal linear attention as a plain loop over queries; elu + 1 as its feature."""
    query, key = F.elu(query.double()) + 1, F.elu(key.double()) + 1
    rows = []
    for q in range(query.shape[2]):
        weights = (query[:, :, q, None] * key[:, :, : q + 1]).sum(dim=-1, keepdim=True)
        seen = value[:, :, : q + 1].double()
        rows.append((weights * seen).sum(dim=2) / weights.sum(dim=2))
    return torch.stack(rows, dim=2).to(value.dtype)


def with_one_layer_by_hand(monkeypatch, model, prepared, layer):
    """The final hidden states with one call of torch's attention replaced."""
    original, calls = F.scaled_dot_product_attention, []

    def replaced(query, key, value, *arguments, **how):
        calls.append(how)
        if len(calls) - 1 == layer:
            return linear_by_hand(query, key, value)
        return original(query, key, value, *arguments, **how)

    with monkeypatch.context() as patch:
        patch.setattr(F, "scaled_dot_product_attention", replaced)
        hidden = model.forward(prepared).hidden
    assert len(calls) == 3
    return hidden


@pytest.mark.parametrize("exact", ["standard", "flash", "chunked"])
def test_exact_attention_moves_nothing(gpt2, exact):
    found = measure_model(gpt2, gpt2.prepare(TEXT), [exact], rounds=2)
    assert ours(found, exact).drift.cosine == pytest.approx(1, abs=1e-6)
    assert ours(found, exact).drift.error < 1e-5
    assert all(shift.stayed for shift in ours(found, exact).drift.shifts)


@pytest.mark.parametrize("layer", [0, 1, 2])
def test_drift_of_one_layer_is_that_of_an_independent_replacement(monkeypatch, gpt2, layer):
    prepared = gpt2.prepare(TEXT)
    before = gpt2.forward(prepared).hidden[0]
    after = with_one_layer_by_hand(monkeypatch, gpt2, prepared, layer)[0]
    expected = F.cosine_similarity(after.double(), before.double(), dim=-1).mean().item()
    cells = {cell.call: cell for cell in layer_drift(gpt2, prepared, ["linear"])}
    assert list(cells) == [0, 1, 2]
    assert cells[layer].cosine == pytest.approx(expected, abs=1e-6)
    assert expected < 1 - 1e-4  # there is something to see
    part = ours(
        measure_model(gpt2, prepared, ["linear"], layers={layer}, rounds=2), "linear", (layer,)
    )
    assert part.drift.cosine == pytest.approx(expected, abs=1e-6)
    assert part.drift.error == pytest.approx(
        ((after - before).norm() / before.norm()).item(), rel=1e-4
    )


def test_every_arm_is_measured_in_the_same_rounds(gpt2, monkeypatch):
    order = []
    forward = Passes.forward

    def seen(self, mechanism, layers, on_call):
        order.append((mechanism, layers))
        return forward(self, mechanism, layers, on_call)

    monkeypatch.setattr(Passes, "forward", seen)
    found = measure_model(gpt2, gpt2.prepare(TEXT), ["standard", "linear"], layers=[1], rounds=3)
    variants = [
        OWN,
        *(Variant(name, part) for name in ("standard", "linear") for part in (None, (1,))),
    ]
    assert [each.variant for each in found] == variants
    # A warm-up, three rounds in turn, and the pass that is watched for its memory.
    assert order == [(variant.mechanism, variant.layers) for variant in variants] * 5
    assert [len(each.samples) for each in found] == [3] * 5
    own = found[0].samples
    for each in found:
        shares = [sample / base for sample, base in zip(each.samples, own, strict=True)]
        assert each.ratio.median == pytest.approx(median(shares))
    assert all(each.peak_bytes > 0 for each in found)


def test_a_long_pass_is_timed_once_and_its_memory_is_not_measured(gpt2, monkeypatch):
    monkeypatch.setattr(measuring, "SLOW", 0.0)
    told = []
    found = measure_model(gpt2, gpt2.prepare(TEXT), ["linear"], on_step=told.append)
    assert [len(each.samples) for each in found] == [1, 1]
    assert [each.peak_bytes for each in found] == [None, None]
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_a_mask_that_a_mechanism_cannot_take_is_told_and_the_others_go_on(t5):
    prepared = t5.prepare([("the cat sat", "the cat")])
    found = measure_model(t5, prepared, ["linear", "standard"], rounds=2)
    refused = ours(found, "linear")
    assert "linear" in refused.refused
    assert refused.milliseconds is refused.drift is None
    assert ours(found, "standard").drift.cosine == pytest.approx(1, abs=1e-6)
    cells = list(layer_drift(t5, prepared, ["linear"]))
    assert [cell.call for cell in cells] == list(range(8))
    assert cells[0].cosine is None  # T5 adds relative positions to the scores
    assert "linear" in cells[0].refused


def test_a_layer_that_looks_at_the_source_moves_what_the_decoder_gives(t5):
    for name, weights in t5.module.named_parameters():
        if name.endswith((".q.weight", ".k.weight")):
            weights *= 30
    prepared = t5.prepare([("the cat sat", "the cat")])
    cells = {cell.call: cell.cosine for cell in layer_drift(t5, prepared, ["linear"])}
    assert [call for call, cosine in cells.items() if cosine is not None] == [3, 5, 7]
    assert all(cells[call] < 0.99 for call in (3, 5, 7))
    found = measure_model(t5, prepared, ["standard"], rounds=2)
    assert found[0].drift.what == "decoder output"
    rows = final(prepared, t5.forward(prepared)).rows
    torch.testing.assert_close(rows, t5.module(**prepared.tensors).logits[0].double())


@pytest.mark.parametrize("mechanism", ["standard", "linear"])
def test_a_pooling_layer_is_a_layer_and_moves_the_embedding(mechanism):
    torch.manual_seed(0)
    module = VisionTransformer(
        img_size=32, patch_size=8, embed_dim=24, depth=2, num_heads=2, num_classes=0,
        class_token=False, global_pool="map",
    )  # fmt: skip
    noise = np.random.default_rng(0).integers(0, 255, (32, 32, 3), dtype=np.uint8)
    model = VisionModel(module, "tiny")
    prepared = model.prepare(Picture(Image.fromarray(noise), "noise"))
    cells = list(layer_drift(model, prepared, [mechanism]))
    assert [cell.call for cell in cells] == [0, 1, 2]
    assert (cells[2].cosine < 1 - 1e-9) == (mechanism == "linear")


def test_drift_by_hand_leaves_padding_out(bert):
    prepared = bert.prepare(["the cat sat", "the"])
    own = torch.zeros(2, 5, 2)
    own[..., 0] = 1
    new = own.clone()
    new[1, 0] = torch.tensor([0.0, 1.0])  # the only position of 5 + 3 that turns
    new[1, 3:] = 7.0  # padding
    embedding = torch.zeros(2, 2)
    told = output_drift(prepared, Output(new, embedding), Output(own, embedding))
    assert told.what == "hidden states"
    assert told.cosine == pytest.approx(7 / 8)
    assert told.error == pytest.approx((2 / 8) ** 0.5)


def test_the_first_prediction_before_and_after(bert):
    prepared = bert.prepare("the cat sat")
    states = torch.ones(1, 5, 2), torch.ones(1, 2)
    own = Output(*states, ((Prediction("on", 0.7), Prediction("up", 0.2)),))
    other = Output(*states, ((Prediction("up", 0.5), Prediction("on", 0.3)),))
    gone = Output(*states, ((Prediction("up", 0.5), Prediction("by", 0.3)),))
    (shift,) = output_drift(prepared, other, own).shifts
    assert (shift.stayed, shift.own.probability, shift.own_now) == (False, 0.7, 0.3)
    assert output_drift(prepared, gone, own).shifts[0].own_now is None
    assert output_drift(prepared, own, own).shifts[0].stayed


@pytest.mark.parametrize("after", [1, 5])
def test_a_caller_stops_it_within_one_attention_call(gpt2, after):
    told = []

    def stop(share):
        told.append(share)
        if len(told) == after:
            raise LeftError

    with pytest.raises(LeftError):
        measure_model(gpt2, gpt2.prepare(TEXT), ["linear"], on_step=stop)
    assert len(told) == after
    # Nothing is left open: the next one runs.
    assert len(list(layer_drift(gpt2, gpt2.prepare(TEXT), ["linear"]))) == 3


def test_what_would_not_fit_is_refused_before_it_runs(gpt2, monkeypatch):
    prepared = gpt2.prepare(f"{TEXT}, {TEXT}")  # cut: of a short one, standard holds least
    sizes = fit.sizes_of(gpt2, prepared)
    assert (sizes.batch, sizes.heads, sizes.length, sizes.dim) == (1, 5, 31, 4)
    wanted = formula("standard").peak(sizes)
    monkeypatch.setattr(fit, "free_bytes", lambda _: 0.99 * wanted / fit.USABLE)
    found = measure_model(gpt2, prepared, ["standard", "linear"], rounds=2)
    assert ours(found, "standard").refused.startswith("Standard would take about ")
    assert ours(found, "linear").refused is None
    assert {cell.cosine for cell in layer_drift(gpt2, prepared, ["standard"])} == {None}


def test_a_model_that_cannot_be_routed_is_named():
    model = ByHand()
    with pytest.raises(InputError, match="'by-hand' computes attention by itself"):
        measure_model(model, model.prepare("a b c"), ["linear"])


def test_a_hiccup_of_the_machine_makes_no_pass_a_slow_one(gpt2, monkeypatch):
    """The first sample of one variant takes long, its warm-up did not: all rounds are run."""
    slow = iter([measuring.SLOW + 1])
    real = measuring.interleaved

    def hiccup(works, **how):
        samples = real(works, **how)
        first = next(iter(samples))
        samples[first][0] = next(slow, samples[first][0])
        return samples

    monkeypatch.setattr(measuring, "interleaved", hiccup)
    found = measure_model(gpt2, gpt2.prepare(TEXT), ["standard"], rounds=5)
    assert [len(each.samples) for each in found] == [5, 5]
