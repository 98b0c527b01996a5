"""Measuring: what is left out, what is waited for, and peaks of memory that theory foretells."""

import time
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
import transformers as hf
from torch.nn.attention import SDPBackend, sdpa_kernel

from core.attention import MECHANISMS
from core.bench import cost, timing
from core.bench.bars.report import HEADER, Line, exactly
from core.bench.cost import attention_peak, drift, measure
from core.bench.memory import peak_bytes
from core.bench.timing import ROUNDS, Spread, interleaved, ratio, seconds
from core.capture.trace import AttentionCall
from core.models.run import Output
from core.models.text.model import TextModel
from tests.core.words import bert_tokenizer

MEGABYTE = 10**6


def model(padding_side="right"):
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31, initializer_range=0.5,
    )  # fmt: skip
    module = hf.BertModel._from_config(config, attn_implementation="sdpa")
    return TextModel(module, bert_tokenizer(padding_side), "tiny")


def qkv(length):
    return torch.randn(3, 1, 4, length, 64, generator=torch.Generator().manual_seed(0))


def peak(name, length):
    """Megabytes of one call of 4 heads of 64 dimensions in float32."""
    tensors = qkv(length)

    def maths():
        with sdpa_kernel(SDPBackend.MATH):
            return F.scaled_dot_product_attention(*tensors)

    work = maths if name == "maths" else lambda: MECHANISMS[name].attend(*tensors)
    return peak_bytes(work) / MEGABYTE


def test_spread_is_median_and_quartiles():
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]) == Spread(3.0, 2.0, 4.0)
    assert Spread.of([5.0, 1.0, 4.0, 2.0, 3.0]).half_width == 1.0
    assert Spread.of([7.0]) == Spread(7.0, 7.0, 7.0)


def test_ratio_is_taken_round_by_round():
    # The machine was ten times slower in the second round: the ratio does not show it.
    samples = {"a": [1.0, 10.0, 1.0], "b": [2.0, 20.0, 2.0]}
    assert ratio(samples, "a", "b") == Spread(0.5, 0.5, 0.5)
    with pytest.raises(ValueError, match="zip"):
        ratio({"a": [1.0, 1.0], "b": [1.0]}, "b", "a")


def test_b4_works_take_turns_after_one_warm_up_each():
    order, told = [], []
    works = {name: lambda name=name: order.append(name) for name in "abc"}
    samples = interleaved(works, on_round=told.append)
    assert "".join(order) == "abc" * (1 + ROUNDS)
    assert ROUNDS >= 5
    assert [len(of_one) for of_one in samples.values()] == [ROUNDS] * 3
    assert told[-1] == 1.0


def test_b4_the_slow_first_call_is_no_sample():
    pauses = iter([0.2])
    samples = interleaved({"work": lambda: time.sleep(next(pauses, 0.0))})
    assert max(samples["work"]) < 0.2


@pytest.mark.parametrize(("device", "module"), [("cuda", torch.cuda), ("mps", torch.mps)])
def test_b4_both_ends_are_synchronised(monkeypatch, device, module):
    order = []
    monkeypatch.setattr(module, "synchronize", lambda *_: order.append("wait"))
    seconds(lambda: order.append("work"), device)
    assert order == ["wait", "work", "wait"]


def test_b4_time_is_taken_while_the_device_still_works(monkeypatch):
    monkeypatch.setattr(timing, "synchronize", lambda _: time.sleep(0.02))
    assert seconds(lambda: None, "cuda") >= 0.02


@pytest.fixture
def two_threads() -> None:
    """As many as the case counted its peaks on; the next file has its own number again."""
    torch.set_num_threads(2)


def test_b5_peaks_at_1024_positions(two_threads):
    assert peak("standard", 1024) == pytest.approx(33.6, rel=0.01)
    assert peak("maths", 1024) == pytest.approx(38.8, rel=0.01)
    # Output and row sums, and a block of scores and output for each thread: 2.25 on two threads.
    assert peak("flash", 1024) == pytest.approx(2.25, rel=0.02)
    # Ours works in blocks, so it stays under the 4.2 that whole matrices need.
    assert peak("linear", 1024) <= 4.2


def test_b5_peaks_at_4096_positions_and_how_they_grow(two_threads):
    assert peak("standard", 4096) == pytest.approx(537, rel=0.01)
    assert peak("maths", 4096) == pytest.approx(608, rel=0.01)
    assert peak("flash", 4096) == pytest.approx(5.4, rel=0.02)
    # Ours works in blocks, so it stays under the 16.8 that whole matrices need.
    assert peak("linear", 4096) <= 16.8
    assert peak("standard", 2048) / peak("standard", 1024) == pytest.approx(4, rel=0.01)
    assert peak("linear", 4096) / peak("linear", 2048) <= 2.05
    # A block of fixed size is held beside the output, which grows as the length.
    assert 1.4 < peak("linear", 16384) / peak("linear", 8192) <= 2.05


def test_b5_the_peak_is_exact_repeatable_and_counts_what_was_freed_again():
    def work():
        torch.empty(3_000_000, dtype=torch.uint8)
        torch.empty(5_000_000, dtype=torch.uint8)
        return torch.empty(1_000_000, dtype=torch.uint8)

    # Each of the two is freed before the next one is made.
    assert peak_bytes(work) == peak_bytes(work) == 5_000_000


def test_a_device_without_a_peak_says_so():
    assert peak_bytes(lambda: None, "mps") is None


@pytest.mark.parametrize(("name", "wanted"), [("standard", 33.6), (None, 2.25)])
def test_the_peak_of_a_recorded_call_is_that_of_its_mechanism(name, wanted, two_threads):
    query, key, _ = qkv(1024)
    call = AttentionCall(query, key, None, False, 64**-0.5, name, "some kernel")
    assert attention_peak(call) / MEGABYTE == pytest.approx(wanted, rel=0.02)


def test_own_peak_of_a_routed_call_is_that_of_torchs_choice():
    query, key, _ = qkv(1024)
    call = AttentionCall(query, key[:, :2], None, False, 64**-0.5, "standard", "standard (cpu)")
    assert attention_peak(call, own=True) < attention_peak(call) / 5
    given = replace(call, model_weights=torch.zeros(1, 4, 1024, 1024))
    assert attention_peak(given) is None


def test_a_run_without_another_mechanism_is_compared_with_nothing():
    tiny, told = model(), []
    run = tiny.run("the cat sat")
    found = measure(tiny, run, on_step=told.append)
    assert found.against_own is None
    assert found.passes == ROUNDS
    assert told[-1] == 1.0
    assert found.kernel == "flash (cpu)"
    assert found.kept_bytes == run.trace.nbytes
    assert found.error < 1e-5
    assert 0 < found.attention_bytes <= found.pass_bytes
    assert found.milliseconds.low <= found.milliseconds.median <= found.milliseconds.high


@pytest.mark.parametrize("texts", ["the cat sat", ["the cat", "the cat sat a cats"]])
def test_a_routed_run_is_compared_with_the_models_own(texts):
    tiny = model()
    standard = measure(tiny, tiny.run(texts, "standard"))
    assert standard.kernel == "standard (cpu)"
    assert standard.against_own.cosine == pytest.approx(1.0, abs=1e-5)
    assert standard.against_own.speed.median > 0
    assert standard.against_own.memory > 0
    linear = measure(tiny, tiny.run(texts, "linear"))
    assert linear.against_own.cosine < 0.9999


def test_b4_the_first_pass_is_no_sample(monkeypatch):
    tiny = model()
    run = tiny.run("the cat sat")
    plain, pauses = tiny.forward, iter([0.5])

    def forward(prepared):
        time.sleep(next(pauses, 0.0))
        return plain(prepared)

    monkeypatch.setattr(tiny, "forward", forward)
    assert measure(tiny, run).milliseconds.high < 500


def test_a_slow_pass_is_timed_once(monkeypatch):
    monkeypatch.setattr(cost, "SLOW", 0.0)
    tiny = model()
    found = measure(tiny, tiny.run("the cat sat", "standard"))
    assert (found.passes, found.pass_bytes) == (1, None)
    assert found.against_own.cosine == pytest.approx(1.0, abs=1e-5)


def test_measuring_leaves_nothing_behind():
    tiny = model()
    run = tiny.run("the cat sat", "linear")
    before = [tensor.clone() for tensor in (run.output.hidden, run.trace.calls[0].query)]
    measure(tiny, run)
    assert torch.equal(run.output.hidden, before[0])
    assert torch.equal(run.trace.calls[0].query, before[1])
    assert len(run.trace.calls) == 2


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_does_not_count_in_the_drift(side):
    prepared = model(side).prepare(["the cat", "the cat sat a cats"])
    own = torch.randn(2, 8, 20, generator=torch.Generator().manual_seed(0))
    moved = own.clone()
    moved[0, slice(4, None) if side == "right" else slice(0, 4)] = torch.nan
    embedding = torch.zeros(2, 20)
    assert drift(prepared, Output(moved, embedding), Output(own, embedding)) == pytest.approx(1.0)


def test_drift_is_the_mean_cosine_of_positions():
    prepared = model().prepare("the cat sat")
    own = torch.eye(5)[None]
    turned = own.clone()
    turned[0, 0], turned[0, 1] = -own[0, 0], own[0, 2]  # cosines -1, 0, and three times 1
    outputs = (Output(hidden, torch.zeros(1, 5)) for hidden in (turned, own))
    assert drift(prepared, *outputs) == pytest.approx((-1 + 0 + 3) / 5)


def test_a_line_of_the_report_says_whether_the_bar_is_met():
    met = Line("forward with capture / plain", Spread(1.012, 1.0, 1.02), 1.03)
    missed = Line("bytes sent", exactly(151.0), 150, "kB")
    assert met.met
    assert str(met).split()[-6:] == ["1.012", "1..1.02", "<=", "1.03", "ratio", "met"]
    assert not missed.met
    assert str(missed).split() == [
        "bytes", "sent", "151", "151..151", "<=", "150", "kB", "NOT", "MET",
    ]  # fmt: skip
    assert HEADER.split() == ["what", "median", "quartiles", "bar"]
