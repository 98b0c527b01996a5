"""The command line on a region of a text: an exact tile, or one line with exit code 2."""

import json

import numpy as np
import pytest

from tests.core.cli.test_cli import TEXT, TOKENS, minilm, refused, run

__all__ = ["minilm"]  # a fixture of the other file


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_a_region_of_a_text_becomes_an_exact_tile(capsys, minilm, tmp_path):
    whole, part, notes = tmp_path / "whole.npz", tmp_path / "part.npz", tmp_path / "notes.md"
    notes.write_text(TEXT)
    assert run(capsys, "maps", TEXT, "--head", 5, "--out", whole)[0] == 0
    assert run(capsys, "maps", notes, "--head", 5, "--region", "2:9,0:4", "--out", part)[0] == 0
    with np.load(whole) as all_of_it, np.load(part) as tile:
        np.testing.assert_array_equal(tile["weights"], all_of_it["weights"][2:9, 0:4])
        assert list(tile["rows"]) == TOKENS[2:9]
        about = json.loads(str(tile["about"]))
    assert about["note"] == "positions 2 to 8 x 0 to 3, exact"
    assert about["input"] == str(notes)


@pytest.mark.parametrize(
    ("region", "said"),
    [("2:9", "A region such as 1024:1536,0:512 was wanted; '2:9' came."),
     ("2:11,0:4", "'minilm': q between 0 and 10 was wanted; 2:11 came."),
     ("2:9,4:4", "'minilm': k between 0 and 10 was wanted; 4:4 came.")],
)  # fmt: skip
def test_a_region_that_is_not_there_is_refused(capsys, minilm, tmp_path, region, said):
    out = ("--out", tmp_path / "a.npz")
    assert refused(capsys, "maps", TEXT, "--region", region, *out) == said
