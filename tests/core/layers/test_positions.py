"""Positions: the published formula, at every width and length; timm's interpolation."""

import math

import pytest
import torch
from timm.layers import resample_abs_pos_embed

from core.layers import LearnedGridPositions, LearnedPositions, PositionalEncoding, sinusoidal


@pytest.mark.parametrize("dim", [1, 2, 7, 8])
def test_sines_and_cosines_follow_the_formula_at_every_width(dim):
    table = sinusoidal(11, dim)
    for position in range(11):
        for column in range(dim):
            angle = position / 10000 ** (column // 2 * 2 / dim)
            wave = math.cos(angle) if column % 2 else math.sin(angle)
            assert table[position, column].item() == pytest.approx(wave, abs=1e-6)


def test_a_far_position_is_as_exact_as_a_near_one():
    far = sinusoidal(100_001, 7)[-1].tolist()
    angles = [100_000 / 10000 ** (column // 2 * 2 / 7) for column in range(7)]
    waves = [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]
    assert far == pytest.approx(waves, abs=1e-6)


@pytest.mark.parametrize("length", [1, 5, 6007])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_any_length_is_encoded_in_the_inputs_precision(length, dtype):
    layer = PositionalEncoding()
    x = torch.zeros(2, length, 5, dtype=dtype)
    assert layer(x).dtype == dtype
    torch.testing.assert_close(layer(x)[1], sinusoidal(length, 5).to(dtype))
    assert not layer.state_dict()


def test_learned_positions_of_a_short_input_are_the_first_ones():
    layer = LearnedPositions(5, 7)
    torch.testing.assert_close(layer(torch.zeros(2, 3, 5))[1], layer.table[:3])


def test_learned_positions_beyond_the_table_are_interpolated():
    layer = LearnedPositions(1, 3)
    layer.load_state_dict({"table": torch.tensor([[0.0], [2.0], [6.0]])})
    assert layer(torch.zeros(1, 5, 1))[0, :, 0].tolist() == [0, 1, 2, 4, 6]
    layer(torch.zeros(1, 5, 1)).sum().backward()
    assert (layer.table.grad > 0).all()


def test_one_learned_position_serves_every_token():
    layer = LearnedPositions(5, 1)
    torch.testing.assert_close(layer(torch.zeros(1, 3, 5))[0], layer.table.expand(3, 5))


@pytest.mark.parametrize("grid", [(3, 5), (5, 3), (7, 11), (2, 2)])
@pytest.mark.parametrize("prefix", [0, 2])
def test_grid_positions_are_interpolated_as_timm_does(grid, prefix):
    layer = LearnedGridPositions(13, (3, 5), prefix=prefix)
    expected = resample_abs_pos_embed(
        layer.table[None], list(grid), [3, 5], num_prefix_tokens=prefix
    )
    x = torch.randn(2, prefix + grid[0] * grid[1], 13)
    torch.testing.assert_close(layer(x, grid), x + expected, atol=1e-5, rtol=0)


def test_tokens_that_do_not_make_the_grid_are_named():
    with pytest.raises(ValueError, match="1 prefix tokens and 3 x 5 patches were wanted; 15 "):
        LearnedGridPositions(13, (3, 5), prefix=1)(torch.zeros(1, 15, 13), (3, 5))
