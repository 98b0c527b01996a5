"""A mechanism of one's own: recorded, mapped and checked without a line of ours being changed."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F  # noqa: N812

from core import maps
from core.attention import MECHANISMS, own
from core.attention.contract import ContractError, check_contract
from core.capture import capture
from core.errors import InputError
from tests.core.attention.runnable import uncompiled_flex

CONTRIBUTING = Path(__file__).parents[3] / "CONTRIBUTING.md"


@pytest.fixture
def template(tmp_path, monkeypatch):
    """The file that CONTRIBUTING.md gives as a start, written down as it stands."""
    (block,) = re.findall(r"```python\n(.*?)```", CONTRIBUTING.read_text(), re.DOTALL)
    assert len(block.strip().splitlines()) <= 25
    file = tmp_path / "mine.py"
    file.write_text(block)
    yield file
    MECHANISMS.pop("mine", None)


def test_the_template_keeps_the_contract_as_it_stands(template):
    check_contract(own.load(f"{template}:MINE"))


def test_capture_takes_it_and_the_maps_are_its_own(template):
    mine = own.load(f"{template}:MINE")
    query, key, value = torch.randn(3, 1, 2, 7, 5)
    with capture(mine) as trace:
        output = F.scaled_dot_product_attention(query, key, value)
    (call,) = trace.calls
    assert call.mechanism == "mine"
    for head in range(2):
        weights = maps.head_map(call, head)
        torch.testing.assert_close(weights @ value[0, head], output[0, head])
    # A second capture with the same one is no clash; another of its name is.
    with capture(mine):
        F.scaled_dot_product_attention(query, key, value)
    with (
        pytest.raises(InputError, match="'mine' is taken by"),
        capture(replace(mine, title="Another")),
    ):
        pass


@pytest.mark.parametrize("name", MECHANISMS)
def test_ours_keep_it_too(name):
    if MECHANISMS[name].unavailable and MECHANISMS[name].unavailable(
        torch.device("cpu"), torch.float32
    ):
        pytest.skip(f"{name} does not run on this machine")
    with uncompiled_flex():
        check_contract(MECHANISMS[name])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda w: w * 1.1, "rows that sum to 1 were wanted; 1.1 to 1.1 came"),
        (lambda w: w * torch.nan, "NaN or inf came"),
        (lambda w: w.double(), "weights in float32 were wanted; torch.float64 came"),
        (lambda w: w.roll(1, dims=-1), "attend was wanted to be weights @ value"),
        (lambda w: torch.full_like(w, 1 / w.shape[-1]), "attend was wanted|may not attend"),
    ],
)
def test_what_breaks_the_contract_is_named(change, words):
    standard = MECHANISMS["standard"]

    def kernel(inputs):
        return change(standard.weights_kernel(inputs))

    broken = replace(standard, name="broken", weights_kernel=kernel)
    with pytest.raises(ContractError, match=rf"^broken, 7 queries, 7 keys.*({words})"):
        check_contract(broken)


def test_a_declared_refusal_has_to_come():
    loose = replace(MECHANISMS["standard"], name="loose", masks="keys")
    with pytest.raises(ContractError, match="a refusal that names the mechanism was wanted"):
        check_contract(loose)


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("nowhere.py:MINE", "'nowhere.py:MINE' came"),
        ("{file}", "such as 'mine.py:MINE'"),
        ("{file}:NOTHING", "A Mechanism named NOTHING was wanted in 'mine.py'; nothing came"),
        ("{file}:weights", "a function came"),
    ],
)
def test_what_is_no_mechanism_is_refused(template, where, words):
    with pytest.raises(InputError, match=re.escape(words)):
        own.load(where.format(file=template))


def test_a_file_that_fails_says_why(tmp_path):
    (tmp_path / "bad.py").write_text("1 / 0")
    with pytest.raises(InputError, match=r"'bad.py' fails: ZeroDivisionError: division by zero"):
        own.load(f"{tmp_path / 'bad.py'}:X")


def test_a_recorded_call_is_one_line_without_tensors():
    query, key, value = torch.randn(2, 6, 7, 5), torch.randn(2, 3, 11, 5), torch.randn(2, 3, 11, 4)
    mask = torch.ones(2, 1, 1, 11, dtype=torch.bool)
    with capture("standard") as trace:
        F.scaled_dot_product_attention(query, key, value, attn_mask=mask, enable_gqa=True)
        F.scaled_dot_product_attention(query, query, query, is_causal=True)
    assert repr(trace.calls[0]) == (
        "<AttentionCall 0, standard (cpu), 2 x 6 heads sharing 3, 7 queries x 11 keys, dim 5, "
        "float32, bool mask (2, 1, 1, 11)>"
    )
    assert repr(trace.calls[1]) == (
        "<AttentionCall 1, standard (cpu), 2 x 6 heads, 7 queries x 7 keys, dim 5, float32, causal>"
    )
    assert repr(trace) == f"<Trace of 2 calls>\n{trace.calls[0]!r}\n{trace.calls[1]!r}"
