"""`python -m core bench attention`: options, the table of bars, and what a sweep prints."""

import subprocess

import pytest

from core.__main__ import main, parser
from core.bench import processes
from core.bench.bars import attention, others, plain
from core.bench.bars.report import Line
from core.bench.sweep.saved import from_json
from core.cli import bench_attention
from tests.core.models.text.tiny_text import decoder

SWEEP = (
    "bench", "attention", "--arms", "flash", "linear", "--lengths", "16", "32", "--heads", "2",
    "--dim", "8", "--rounds", "5", "--threads", "1",
)  # fmt: skip


def test_help_names_every_option(capsys):
    with pytest.raises(SystemExit) as left:
        main(["bench", "attention", "--help"])
    assert left.value.code == 0
    said = capsys.readouterr().out
    for name in bench_attention.FIELDS:
        name = "arms" if name == "mechanisms" else name
        assert f"--{name.replace('_', '-')}" in said


def test_the_other_tables_are_still_there():
    for what in ("capture", "clip"):
        assert parser().parse_args(["bench", what]).what == what


def test_without_options_the_bars_are_printed_by_a_process_with_two_threads(monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        return subprocess.CompletedProcess(command, 1)

    monkeypatch.setattr(subprocess, "run", run)
    assert main(["bench", "attention"]) == 1
    assert main(["bench", "attention", "--bars", "--threads", "1"]) == 1
    assert [command[1:] for command in commands] == [
        ["-m", "core.bench.bars.attention", "--threads", threads] for threads in ("2", "1")
    ]


def test_a_sweep_prints_error_time_memory_and_growth(sweeps_here, capsys, tmp_path):
    out = tmp_path / "results.json"
    assert main([*SWEEP, "--causal", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    for words in (
        "total variation", "forward: ", "by formula", "beside itself", "linear: memory grows as N^",
        "At 32 tokens on this CPU, ",
    ):  # fmt: skip
        assert words in said
    kept = from_json(out.read_text())
    assert kept.finished
    assert kept.plan.causal
    assert kept.plan.lengths == (16, 32)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--lengths", "0"], "length: a whole number from 1 to 1,048,576 was wanted; 0 came."),
        (["--arms", "magic"], "'magic' came."),
        (["--bars", "--heads", "3"], "--bars has sizes of its own"),
        (["--lengths", "1048576", "--arms", "standard"], "of memory; "),
        (["--lengths", "4096", "--rounds", "1000"], "are allowed."),
    ],
)
def test_bad_input_is_one_sentence(capsys, options, words):
    assert main(["bench", "attention", *options]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.slow
def test_the_bars_name_what_is_missing(monkeypatch):
    for name, few in (("LENGTH", 64), ("ROUNDS", 1), ("FEW", 1)):
        monkeypatch.setattr(attention, name, few)
    monkeypatch.setattr(attention, "GROWING", (16, 32))
    monkeypatch.setattr(attention, "MECHANISMS", {
        name: attention.MECHANISMS[name] for name in ("standard", "flash", "linear", "favor")
    })  # fmt: skip
    monkeypatch.setattr(attention, "missing", lambda _: True)
    monkeypatch.setattr(attention, "Alone", lambda make, threads: processes.Here(make))
    monkeypatch.setattr(processes, "BLOCK", 0.0)
    monkeypatch.setattr(plain, "lines", lambda: iter(["beside plain processes"]))
    printed = list(attention.lines())
    said = [line for line in printed if isinstance(line, str)]
    assert "window / flash: N = 4,096: there is no mechanism 'window' yet" in said
    assert any("performer-pytorch: N = 4,096: not installed: make bench" in line for line in said)
    measured = {line.what: line.bar for line in printed if isinstance(line, Line)}
    assert measured["linear / flash: N = 4,096"] == 1 / 12
    assert said[-1] == "beside plain processes"
    assert measured["linear: time exponent, 16 to 32"] == 1.1


def test_a_package_that_nobody_has_is_missing():
    nothing = others.Other("linear", "no-such", "no_such_package.inside", 1.0, lambda module: None)
    assert others.missing(nothing)


def test_a_sweep_on_what_a_layer_of_a_model_was_given(sweeps_here, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("core.models.load", lambda *_, **__: decoder("llama"))
    out = tmp_path / "results.json"
    command = ["bench", "attention", "--text", "the cat", "--layer", "1", "--arms", "flash",
               "linear", "--rounds", "5", "--threads", "1", "--out", str(out)]  # fmt: skip
    assert main(command) == 0
    assert "On your sentence, 7 tokens, on this CPU, " in capsys.readouterr().out
    kept = from_json(out.read_text())
    assert (kept.plan.origin.layer, kept.plan.origin.label) == (1, "the cat")
    assert (kept.plan.heads, kept.plan.dim, kept.plan.lengths) == (4, 6, (7,))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--layer", "1"], "--text or --picture was wanted for a model to read; neither came."),
        (["--text", "a", "--picture", "b"], "for a model to read; both came."),
        (["--text", "a", "--heads", "3"], "The model and its input give --heads: leave it out"),
        (["--text", "a", "--bars"], "--bars has sizes of its own"),
    ],
)
def test_options_that_do_not_go_with_a_model_are_named(options, told, capsys):
    assert main(["bench", "attention", *options]) != 0
    assert told in capsys.readouterr().err
