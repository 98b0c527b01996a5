"""Tidy results: one table for pandas, what times come to, two runs side by side; and decoding."""

import io
import re
from dataclasses import fields, replace
from pathlib import Path

import pandas as pd
import pytest
import torch

from core.attention import MECHANISMS
from core.bench import processes
from core.bench.results.tidy import beside, frame, throughput, to_csv
from core.bench.shapes import SHAPES
from core.bench.sweep.measuring import measured, needed
from core.bench.sweep.messages import KINDS, Accuracy, Machine, Memory, Refused, Timing
from core.bench.sweep.plan import Origin, Plan, check
from core.bench.sweep.saved import Results, of_kind
from core.bench.sweep.turns import fresh
from core.errors import InputError

PAPER = Path(__file__).parents[3] / "assets" / "lab-results.md"
PLAN = Plan(mechanisms=("flash", "linear"), lengths=(1024,), heads=4, kv_heads=2, dim=8, threads=1)
MACHINE = Machine("cpu", "a processor", 1, 1e12, 1e11, {"torch": "2.14.1"})


def timing(mechanism, seconds, length=1024, flops=2e9):
    again = seconds if mechanism == "flash" else ()
    return Timing(mechanism, length, "forward", 9.0, seconds, again, flops, 1e9)


def results(*messages, plan=PLAN):
    return Results(plan, (MACHINE, *messages), True)


RUN = results(
    timing("flash", (0.4, 0.2, 0.3)), timing("linear", (0.1, 0.1, 0.1)),
    Memory("linear", 1024, "forward", 1000, 990.0),
    Accuracy("linear", 1024, 64, 0.5, 0.4, 0.6, 7.0, 6.0),
)  # fmt: skip


def test_pandas_reads_the_table_as_it_is():
    table = pd.read_csv(io.StringIO(to_csv(RUN)))
    assert len(table) == 2
    linear = table.set_index("mechanism").loc["linear"]
    # Ratios 1/4, 1/2 and 1/3: not 0.1 / 0.3 by chance, but round by round.
    assert linear["ratio_median"] == pytest.approx(1 / 3)
    assert linear["ratio_low"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert linear["ratio_high"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert linear["ms_median"] == pytest.approx(100)
    assert (linear["heads"], linear["kv_heads"], linear["queries"], linear["keys"]) == (
        4, 2, 1024, 1024,
    )  # fmt: skip
    assert (linear["peak_bytes"], linear["peak_bytes_by_formula"]) == (1000, 990)
    assert linear["total_variation"] == 0.4
    assert linear["version_torch"] == "2.14.1"
    assert not table["memory_kept"].any()
    numbers = [name for name in table if name.startswith(("ms_", "ratio_", "tokens", "flops"))]
    assert all(pd.api.types.is_numeric_dtype(table[name]) for name in numbers)


def test_what_a_time_comes_to():
    # 1,024 tokens in 0.1 s; 2e9 operations in 0.1 s are 2e10 a second, 2 % of 1e12.
    done = throughput(RUN, RUN.messages[2])
    assert done.tokens == pytest.approx(10_240)
    assert done.flops == pytest.approx(2e10)
    assert done.share == pytest.approx(0.02)
    decoding = results(timing("flash", (0.1,) * 3), plan=replace(PLAN, decode=True, batch=3))
    assert throughput(decoding, decoding.messages[1]).tokens == pytest.approx(30)


def test_two_runs_stand_side_by_side_where_they_have_sizes_in_common():
    before = results(timing("flash", (0.6, 0.6, 0.6)), timing("linear", (0.4, 0.4, 0.4), 512))
    table = beside(RUN, before)
    assert list(table["mechanism"]) == ["flash"]
    assert table["ratio"].item() == pytest.approx(0.5)
    assert beside(RUN, results()).empty
    assert beside(RUN, results(timing("flash", (0.6,) * 3), plan=replace(PLAN, dim=16))).empty


def test_the_paper_names_every_field():
    named = set(re.findall(r"`(\w+)`", PAPER.read_text()))
    for kind in (Plan, Origin, *KINDS.values()):
        if kind.__name__ != "Progress":  # is not saved
            assert {field.name for field in fields(kind)} <= named
    columns = {name for name in frame(RUN) if not name.startswith("version_")}
    assert columns <= named


@pytest.fixture
def short(monkeypatch):
    monkeypatch.setattr(processes, "BLOCK", 0.0)


def test_a_decoding_step_has_one_query_against_all_keys(short):
    plan = replace(PLAN, mechanisms=("flash", "standard", "window"), lengths=(64,), decode=True)
    query, key, _ = fresh(plan, 64, 0)
    assert query.shape == (1, 4, 1, 8)
    assert key.shape == (1, 2, 64, 8)
    found = list(measured(plan, alone=False))
    assert {each.mechanism for each in of_kind(found, Timing)} == {"flash", "standard"}
    assert all(each.output_error < 1e-5 for each in of_kind(found, Accuracy))
    (refused,) = of_kind(found, Refused)
    assert refused.reason.startswith("window: a decoding step is measured of exact mechanisms")
    # One product with k, one with v, 4 heads x 64 keys x 8; k and v of 2 heads read, q and output.
    assert needed(plan, "flash", 64, "forward") == (
        4 * 4 * 64 * 8, 4 * (2 * 2 * 64 * 8 + 2 * 4 * 8),
    )  # fmt: skip


def test_batches_are_swept_at_one_length(short):
    plan = replace(PLAN, lengths=(16,), batches=(1, 3), rounds=5)
    found = list(measured(plan, alone=False))
    assert {each.length for each in of_kind(found, Timing)} == {1, 3}
    table = frame(Results(plan, tuple(found), True))
    assert set(zip(table["batch"], table["keys"], strict=True)) == {(1, 16), (3, 16)}
    # Three times the sequences have three times the operations.
    one, three = (needed(plan, "flash", batch, "forward").flops for batch in plan.batches)
    assert three == 3 * one


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kv_heads": 3}, "kv_heads that divide the 4 heads were wanted; 3 came"),
        ({"kv_heads": 5}, "kv_heads: a whole number from 1 to 4 was wanted; 5 came"),
        ({"batches": (1, 2), "lengths": (16, 32)}, "One length was wanted where batches are swept"),
        ({"batches": (2, 2)}, "Every batch once was wanted; 2 came twice"),
        ({"decode": True, "backward": True}, "without 'backward' was wanted"),
        ({"decode": True, "causal": True}, "without 'causal' was wanted"),
    ],
)
def test_what_does_not_fit_together_is_refused(change, words):
    with pytest.raises(InputError, match=words):
        check(replace(PLAN, **change))


@pytest.mark.parametrize("name", SHAPES)
def test_every_preset_can_be_measured(name):
    shape = SHAPES[name]
    assert shape.source
    plan = Plan(heads=shape.heads, kv_heads=shape.kv_heads, dim=shape.dim, causal=shape.causal)
    check(replace(plan, lengths=(16,)))
    query, key, value = fresh(replace(plan, lengths=(16,)), 16, 0)
    output = MECHANISMS["flash"].attend(query, key, value, is_causal=shape.causal)
    assert output.shape == query.shape
    assert isinstance(output, torch.Tensor)
