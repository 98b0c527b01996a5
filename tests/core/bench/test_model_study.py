"""A study of a whole model: how it grows, what it says, its files, and its command."""

import csv
import io
import json
from dataclasses import replace

import pytest

from core.__main__ import main
from core.bench.model.drift import OutputDrift, Shift
from core.bench.model.layers import Layer, calls_of, in_words, layers_of
from core.bench.model.measuring import OWN, Cell, Measured, Variant
from core.bench.model.saved import COLUMNS, to_csv, to_json
from core.bench.model.study import ModelStudy, study
from core.bench.model.verdict import cosine, of_range, tolerant_layers, verdict
from core.bench.timing import Spread
from core.errors import InputError
from core.types import Prediction

SIX = tuple(Layer(call, f"{call}") for call in range(6))


def measured(mechanism, ratio, moved_to, layers=None, spread=0.01):
    share = Spread(ratio, ratio - spread, ratio + spread)
    drift = OutputDrift("hidden states", moved_to, 0.5)
    variant = OWN if mechanism is None else Variant(mechanism, layers)
    return Measured(variant, (ratio, ratio), Spread(ratio, ratio, ratio), share, 10, drift)


def whole(*variants, cells=(), chosen=None):
    names = tuple(dict.fromkeys(each.variant.mechanism for each in variants))
    return ModelStudy("tiny", 40, "cpu", "float32", 1, names, SIX, chosen,
                 (measured(None, 1.0, 1.0, spread=0), *variants), cells)  # fmt: skip


def test_layers_of_an_encoder_decoder_have_the_name_of_their_side(t5):
    names = [layer.name for layer in layers_of(t5.prepare([("the cat sat", "the cat")]))]
    assert names == [
        "encoder 0", "encoder 1", "decoder 0", "cross-attention 0", "decoder 1",
        "cross-attention 1", "decoder 2", "cross-attention 2",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "calls", "words"),
    [
        ("3", (3,), "layer 3"),
        (" 2 - 4 ", (2, 3, 4), "layers 2 to 4"),
        ("0to5", (0, 1, 2, 3, 4, 5), "layers 0 to 5"),
    ],
)
def test_a_range_of_layers_is_read_and_said(text, calls, words):
    assert calls_of(text, SIX) == calls
    assert in_words(calls, SIX) == words


@pytest.mark.parametrize("text", ["", "8-12", "4-2", "-1", "2-", "all", "0-6", "9" * 400])
def test_an_absurd_range_is_one_sentence(text):
    with pytest.raises(InputError, match="One of the layers 0 to 5, or a range of them") as told:
        calls_of(text, SIX)
    assert str(told.value).endswith(f"'{text}' came.")


def test_a_study_grows_from_the_table_to_the_last_layer(bert):
    told = []
    prepared = bert.prepare("the cat sat")
    seen = list(study(bert, prepared, ["flash", "linear", "topk"], rounds=2, on_step=told.append))
    # The table, then a row for each of two layers, then the end; exact flash needs no row.
    assert [len(each.cells) for each in seen] == [0, 2, 4, 4]
    assert [each.finished for each in seen] == [False, False, False, True]
    assert {cell.mechanism for cell in seen[-1].cells} == {"linear", "topk"}
    assert (seen[-1].positions, len(seen[-1].layers), seen[-1].chosen) == (5, 2, None)
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_only_exact_mechanisms_need_no_layers(bert):
    seen = list(study(bert, bert.prepare("the cat sat"), ["flash"], rounds=2))
    assert seen[-1].finished
    assert seen[-1].cells == ()


@pytest.mark.parametrize(("layers", "chosen"), [([0, 1], None), ([1], (1,))])
def test_all_layers_are_not_measured_twice(bert, layers, chosen):
    found = next(study(bert, bert.prepare("the cat"), ["linear"], layers=layers, rounds=2))
    assert found.chosen == chosen
    assert len(found.variants) == (2 if chosen is None else 3)


@pytest.mark.parametrize(
    ("mechanisms", "rounds", "words"),
    [
        ([], 5, "At least one mechanism was wanted; none came."),
        (["magic"], 5, "'magic' came."),
        (["linear"], 0, "2 to 1,000 rounds were wanted; 0 came."),
        (["flash_attn"], 5, "'flash_attn' cannot run here: "),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_runs(bert, mechanisms, rounds, words):
    with pytest.raises(InputError) as told:
        next(study(bert, bert.prepare("the cat"), mechanisms, rounds=rounds))
    assert words in str(told.value)


def test_the_verdict_in_words():
    window, linear = measured("window", 1.3, 0.991), measured("linear", 0.5, 0.83)
    assert verdict(whole(window, linear)) == (
        "In all layers of tiny, at 40 positions, linear is 2.0 x (2.0 x to 2.0 x) faster than its "
        "own attention and moves its output to cosine 0.83; window keeps it at 0.99 and is 1.3 x "
        "(1.3 x to 1.3 x) slower."
    )
    assert verdict(whole(window)) == (
        "In all layers of tiny, at 40 positions, nothing that was measured is faster than its own "
        "attention; window keeps its output best, at cosine 0.99."
    )
    assert verdict(whole(measured("flash", 0.5, 1.0))).endswith("keeps its output (cosine 1).")
    reaching = verdict(whole(measured("window", 0.5, 1.0)))
    assert reaching.endswith("it attends as softmax does here: nothing of its own was tested.")
    unsure = measured("linear", 0.9, 0.83, spread=0.2)
    assert "nothing that was measured is faster" in verdict(whole(unsure))
    assert verdict(whole()) is None


def test_what_the_chosen_layers_cost_beside_all_layers():
    variants = measured("linear", 0.5, 0.83), measured("linear", 0.75, 0.98, layers=(2, 3))
    assert list(of_range(whole(*variants, chosen=(2, 3)))) == [
        "linear in layers 2 to 3 only: cosine 0.98, 0.75 of the time; in all layers 0.83 and 0.5 "
        "of it."
    ]
    refused = replace(variants[1], refused="linear: no such mask.", drift=None)
    told = list(of_range(whole(variants[0], refused, chosen=(2, 3))))
    assert told == ["linear in layers 2 to 3 only: linear: no such mask."]
    assert list(of_range(whole(variants[0]))) == []


def test_the_layers_that_bear_a_mechanism_best_and_worst():
    values = {("linear", 0): 0.9, ("linear", 1): 0.99, ("topk", 0): 0.9999, ("topk", 1): 1.0}
    cells = tuple(Cell(call, name, value) for (name, call), value in values.items())
    variants = measured("linear", 1.0, 0.9), measured("topk", 1.0, 0.9), measured("favor", 1.0, 0.9)
    assert list(tolerant_layers(whole(*variants, cells=cells))) == [
        "linear: layer 1 bears it best (cosine 0.99), layer 0 worst (0.90).",
        "topk: every layer bears it alike, cosine 0.9999.",
    ]


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0, "1"), (0.999, "0.999"), (0.996, "0.996"), (0.5, "0.50"), (-1.0, "-1.00")],
)
def test_a_cosine_is_told_from_one(value, said):
    assert cosine(value) == said


def test_the_files_hold_samples_reasons_and_no_formula():
    shift = Shift(Prediction("a", 0.7), Prediction("=1+1", 0.5), None)
    drift = OutputDrift("hidden states", 0.8, 0.5, (shift,))
    variants = (
        replace(measured("linear", 0.5, 0.8), drift=drift),
        Measured(Variant("favor"), refused="no."),
    )
    found = whole(*variants, cells=(Cell(4, "linear", 0.75),))
    rows = list(csv.DictReader(io.StringIO(to_csv(found))))
    assert tuple(rows[0]) == COLUMNS
    assert [row["layers"] for row in rows] == ["all layers"] * 3 + ["layer 4"]
    assert (rows[1]["first_prediction"], rows[1]["stayed"]) == ("'=1+1", "False")
    assert (rows[2]["refused"], rows[2]["milliseconds"]) == ("no.", "")
    assert rows[3]["cosine"] == "0.75"
    told = json.loads(to_json(found))
    assert told["variants"][1]["samples"] == [0.5, 0.5]
    assert told["variants"][1]["variant"]["mechanism"] == "linear"


def command(monkeypatch, model, *options):
    monkeypatch.setattr("core.models.load", lambda *_, **__: model)
    return main(["bench", "model", "tiny", "--text", "the cat sat", "--rounds", "2", *options])


def test_the_command_prints_all_of_it_and_writes_it(bert, monkeypatch, capsys, tmp_path):
    out = tmp_path / "whole.json"
    options = ("--mechanisms", "linear", "flash", "--layers", "1", "--out", str(out))
    assert command(monkeypatch, bert, *options) == 0
    said = capsys.readouterr().out
    for words in ("tiny-bert, 5 positions", "linear        layer 1 ", "layer 1 by itself: linear ",
                  "linear in layer 1 only: ", "In all layers of tiny-bert, "):  # fmt: skip
        assert words in said
    assert json.loads(out.read_text())["finished"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--layers", "8-12"], "One of the layers 0 to 1"),
        (["--mechanisms", "magic"], "'magic' came."),
        (["--out", "whole.txt"], "ends in .json or .csv"),
        (["--rounds", "1"], "rounds were wanted; 1 came."),
    ],
)
def test_bad_options_are_one_sentence(bert, monkeypatch, capsys, options, words):
    assert command(monkeypatch, bert, *options) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
