"""The parser of all commands: what it tells is true, and it needs neither torch nor a library."""

import subprocess
import sys

import pytest

from core.__main__ import parser
from core.attention import MECHANISMS
from core.bench.sweep.plan import Plan
from core.bench.timing import ROUNDS
from core.cli.parsers import facts
from core.models import OFFLINE
from core.models.clip.model import PICTURES
from core.models.clip_mini.training import training
from core.zero_shot.labels.lists import READY
from core.zero_shot.labels.templates import TEMPLATES

HEAVY = {"torch", "numpy", "transformers", "timm", "open_clip", "pandas", "matplotlib"}
COMMAND = """
import runpy, sys
sys.argv = ["core", {arguments}]
try:
    runpy.run_module("core", run_name="__main__", alter_sys=True)
except SystemExit as left:
    assert not left.code, left.code
"""


def brought(code: str) -> set[str]:
    """The libraries that a process has imported by the end of its code."""
    command = [sys.executable, "-c", f"{code}\nimport sys; print('modules:', *sys.modules)"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    modules = said.splitlines()[-1].split()
    assert modules[0] == "modules:"
    return HEAVY & set(modules)


def brought_by(*arguments: str) -> set[str]:
    return brought(COMMAND.format(arguments=", ".join(map(repr, arguments))))


@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("maps", "--help"), ("label", "--help"), ("bench", "attention", "--help")],
)
def test_help_does_not_wait_for_torch(arguments):
    assert brought_by(*arguments) == set()


def test_models_are_listed_without_torch():
    assert brought_by("models") == set()


@pytest.mark.processes
def test_a_text_is_read_without_the_libraries_for_pictures():
    code = "import core.cli.maps, core.models.loading.by_name, core.models.text.loading"
    assert brought(code).isdisjoint({"timm", "open_clip", "pandas"})


def test_names_that_help_texts_list_are_those_there_are():
    assert list(facts.MECHANISMS) == list(MECHANISMS)
    assert list(facts.LABEL_LISTS) == list(READY)
    assert list(facts.TEMPLATES) == list(TEMPLATES)
    assert set(facts.OFFLINE_MODEL.values()) <= set(OFFLINE)


def test_defaults_that_help_texts_tell_are_those_that_hold():
    assert facts.PICTURES_AT_A_TIME == PICTURES
    assert facts.STUDY_ROUNDS == ROUNDS
    for known, plan in ((facts.SWEEP, Plan()), (facts.TRAINING, training.Plan())):
        assert known == {name: getattr(plan, name) for name in known}


def test_a_sweep_sets_nothing_that_was_not_asked_for():
    options = vars(parser().parse_args(["bench", "attention"]))
    own = {"command", "what", "module", "bars"}
    assert {name for name, value in options.items() if value is not None} == own
