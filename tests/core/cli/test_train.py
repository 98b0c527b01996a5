"""The command line: options, progress, and that the asset is only touched when all is done."""

import argparse

import pytest

from core.__main__ import parser
from core.cli import train
from core.errors import InputError
from core.models.clip_mini import ASSET
from core.models.clip_mini.training.evaluation import Score


def parsed(*options):
    return parser().parse_args(["train", "clip-mini", *options])


@pytest.fixture
def steps(monkeypatch):
    """What the command does, without doing it."""
    done = []
    monkeypatch.setattr(train, "fetch_all", lambda show: done.append("fetch"))
    monkeypatch.setattr(train, "catalogue", lambda folders: [])
    monkeypatch.setattr(train, "trained", lambda *_: done.append("train"))
    untrained = argparse.Namespace(module="module")
    monkeypatch.setattr(train.clip_mini, "untrained", lambda: untrained)
    monkeypatch.setattr(train.clip_mini, "save_head", lambda _, path: done.append(f"save {path}"))
    monkeypatch.setattr(train.clip_mini, "load_head", lambda _, path: done.append(f"load {path}"))
    score = Score("recall", 13.0, 12.0, "%")
    monkeypatch.setattr(train, "scores", lambda *_, photographs: [score] * (1 + photographs))
    return done


def test_it_trains_saves_and_measures_what_it_saved(steps, tmp_path, capsys):
    options = parsed("--out", str(tmp_path / "head"))
    assert train.run(options) == 0
    assert steps == ["fetch", "train", f"save {tmp_path / 'head'}", f"load {tmp_path / 'head'}"]
    assert capsys.readouterr().out.count("met") == 2


def test_evaluate_only_writes_nothing(steps):
    options = parsed("--evaluate-only")
    assert train.run(options) == 0
    assert steps == ["fetch", f"load {ASSET}"]


def test_a_validation_run_does_not_look_at_the_photographs(steps, tmp_path, capsys):
    options = parsed("--validate", "--out", str(tmp_path / "head"))
    train.run(options)
    assert capsys.readouterr().out.count("met") == 1


def test_a_validation_run_does_not_replace_the_asset(steps):
    options = parsed("--validate")
    with pytest.raises(InputError, match="--out"):
        train.run(options)
    assert steps == []


def test_a_bar_that_is_not_met_is_told_by_the_exit_status(steps, monkeypatch):
    missed = Score("recall", 11.0, 12.0, "%")
    monkeypatch.setattr(train, "scores", lambda *_, photographs: [missed])
    options = parsed("--evaluate-only")
    assert train.run(options) == 1


def test_progress_stays_on_one_line_until_it_is_done(capsys):
    train.show("features", 0.5)
    train.show("features", 1.0)
    assert capsys.readouterr().err.count("\n") == 1
