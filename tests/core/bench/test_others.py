"""Other people's packages: named for `make bench`, and told apart from ours where they are not."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from core.attention import MECHANISMS
from core.bench.bars import attention, others

BENCH = Path(__file__).parents[3] / "requirements-bench.txt"


def test_make_bench_installs_every_package_that_is_compared():
    named = re.findall(r"^([a-z][\w-]+)>=[\d.]+,<[\d.]+$", BENCH.read_text(), re.MULTILINE)
    assert named == [other.package for other in others.OTHERS]
    assert "-r requirements.txt" in BENCH.read_text()


def test_without_a_package_the_line_says_what_installs_it(monkeypatch):
    absent = [replace(other, module="not_a_package.at_all") for other in others.OTHERS]
    monkeypatch.setattr(attention, "OTHERS", absent)
    assert list(attention.beside_others()) == [
        "linear / linear-attention-transformer: N = 4,096: not installed: make bench installs it",
        "favor / performer-pytorch: N = 4,096: not installed: make bench installs it",
    ]


@pytest.mark.parametrize("other", others.OTHERS, ids=lambda other: other.package)
@pytest.mark.filterwarnings("ignore")  # theirs
def test_a_package_takes_our_axes(other):
    if others.missing(other):
        pytest.skip(f"{other.package} is not installed: make bench installs it")
    query, key, value = torch.randn(3, 1, 2, 11, others.DIM).unbind()
    assert (
        other.work()(query, key, value).shape
        == MECHANISMS["linear"].attend(query, key, value).shape
    )
