"""The same head by several mechanisms: variation by hand, equal maps told once, pooled cells."""

import csv
import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image

from core.attention import MECHANISMS
from core.capture.trace import AttentionCall
from core.errors import MechanismError
from core.maps.by_mechanism import CELLS, map_row, random_call, variation
from core.picture.canvas.views import CanvasStyle
from core.picture.files.map_row import row_csv, row_npz, row_png, row_scenes
from core.types import Position

ARMS = ("standard", "flash", "window", "linear", "favor")


def call(length=7, *, heads=3, kv_heads=3, causal=False, mask=None):
    rng = torch.Generator().manual_seed(0)
    query = torch.randn(1, heads, length, 5, generator=rng)
    key = torch.randn(1, kv_heads, length, 5, generator=rng)
    return AttentionCall(query, key, mask, causal, 0.6, None, "")


@pytest.mark.parametrize("causal", [False, True])
def test_variation_is_half_the_distance_of_the_rows_by_their_mean(causal):
    one = call(11, heads=6, kv_heads=2, causal=causal)
    two = replace(one, mechanism="linear")
    how = {"is_causal": causal, "scale": 0.6}
    maps = [
        MECHANISMS[name].weights(one.query, one.key, **how)[0, 5]
        for name in ("standard", "linear")
    ]  # fmt: skip
    expected = (maps[0] - maps[1]).abs().sum(dim=1).mean() / 2
    assert variation(one, two, 5) == pytest.approx(expected.item(), rel=1e-5)


def test_mechanisms_with_the_same_map_share_a_picture():
    row = map_row(call(), ARMS, 1)
    # A window of 128 sees 7 positions whole.
    assert [each.mechanisms for each in row.maps] == [
        ("standard", "flash", "window"), ("linear",), ("favor",),
    ]  # fmt: skip
    assert row.maps[0].variation == 0
    assert all(each.variation > 0.01 for each in row.maps[1:])
    assert row.allowed is None
    assert row.top == max(each.weights.max() for each in row.maps)
    for each in row.maps:
        np.testing.assert_allclose(each.weights.sum(axis=1), 1, rtol=1e-5)


def test_softmax_stands_first_even_where_it_was_not_measured():
    row = map_row(call(), ("linear",), 0)
    assert [each.mechanisms for each in row.maps] == [("standard",), ("linear",)]


def test_many_positions_become_cells_with_their_largest_weight():
    long = call(CELLS + 45, heads=1, kv_heads=1, causal=True)
    row = map_row(long, ("standard", "window"), 0)
    assert row.cell == 2
    whole = MECHANISMS["standard"].weights(long.query, long.key, is_causal=True, scale=0.6)[0, 0]
    side = -(-(CELLS + 45) // 2)
    assert row.maps[0].weights.shape == (side, side)
    assert row.maps[0].weights[3, 1] == pytest.approx(whole[6:8, 2:4].max().item(), rel=1e-5)
    assert row.allowed[3].sum() == 4
    assert row.maps[1].variation > 0.01


def test_a_mechanism_that_cannot_make_the_map_is_told(monkeypatch):
    def weights(*_, **__):
        raise MechanismError("linear: no such mask.")

    monkeypatch.setitem(MECHANISMS, "linear", replace(MECHANISMS["linear"], weights_kernel=weights))
    row = map_row(call(), ("flash", "linear"), 0)
    assert [each.mechanisms for each in row.maps] == [("flash",)]
    assert row.refused == ("linear: no such mask.",)


def test_random_calls_are_the_same_for_the_same_seed():
    one, two, other = (random_call(3, 5, causal=True, seed=seed) for seed in (0, 0, 1))
    assert torch.equal(one.query, two.query)
    assert not torch.equal(one.query, other.query)
    assert one.is_causal


@pytest.fixture
def positions():
    return tuple(Position(f"w{index}") for index in range(7))


def test_all_views_have_one_scale(positions):
    row = map_row(call(), ARMS, 0)
    scenes = row_scenes(row, positions, run="r", style=CanvasStyle())
    assert {scene["values"]["top"] for scene in scenes} == {row.top}
    assert len(scenes) == 3
    assert scenes[0]["queries"] == [f"w{index}" for index in range(7)]


def test_numbers_and_picture_can_be_taken_away(positions):
    row, about = map_row(call(), ARMS, 0), ["tiny, layer 1", "head 0"]
    kept = np.load(io.BytesIO(row_npz(row, positions, about)))
    np.testing.assert_array_equal(kept["linear"], row.maps[1].weights)
    assert str(kept["about"]) == "tiny, layer 1\nhead 0"
    text = row_csv(row, positions, about).decode("utf-8-sig")
    rows = list(csv.reader(line for line in text.splitlines() if not line.startswith("#")))
    assert len(rows) == 1 + 3 * 7
    assert rows[1][0] == "standard+flash+window"
    assert [float(cell) for cell in rows[8][3:]] == pytest.approx(row.maps[1].weights[0], rel=1e-5)
    picture = Image.open(io.BytesIO(row_png(row, positions, about, "viridis")))
    assert "tiny, layer 1" in picture.info["Description"]
    assert picture.width > picture.height
