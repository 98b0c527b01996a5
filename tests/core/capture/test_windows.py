"""Windows of a picture: where every patch is cut to, against timm's own roll and partition."""

import pytest
import torch
from timm.models.swin_transformer import SwinTransformerBlock

from core.capture.windows import Windows
from tests.core.models.vision.tiny_swin import numbers

CUTS = {
    "shifted": ((8, 12), (4, 3), (2, 1)),
    "not shifted": ((8, 12), (4, 3), (0, 0)),
    "sideways": ((4, 6), (4, 3), (0, 1)),
    "one window": ((5, 7), (5, 7), (0, 0)),
    "by all but one": ((6, 10), (3, 5), (2, 4)),
}


@pytest.fixture(params=CUTS)
def cut(request):
    """Ours, and a block of timm that cuts the same."""
    grid, window, shift = CUTS[request.param]
    block = SwinTransformerBlock(12, grid, window_size=window, shift_size=shift)
    assert (block.window_size, block.shift_size) == (window, shift)
    return Windows(grid, window, shift), block


def test_v3_every_slot_holds_the_patch_that_timm_puts_there(cut):
    windows, block = cut
    assert windows.order.tolist() == numbers(block).tolist()
    assert (windows.count, windows.area) == windows.order.shape


def test_v3_every_position_knows_its_window_and_slot(cut):
    windows, _ = cut
    for position in range(windows.positions):
        window, slot = windows.place(position)
        assert windows.order[window, slot] == position


def test_v3_patches_that_meet_by_wrapping_may_not_look_as_in_timms_mask(cut):
    windows, block = cut
    for window in range(windows.count):
        wanted = torch.ones(windows.area, windows.area, dtype=torch.bool)
        if block.attn_mask is not None:
            wanted = block.attn_mask[window] == 0
        assert (windows.inside(torch.tensor([window]))[0] == wanted).all()


def test_v3_over_the_picture_a_patch_sees_its_window_alone(cut):
    windows, _ = cut
    wanted = torch.zeros(windows.positions, windows.positions, dtype=torch.bool)
    for window, own in enumerate(windows.order):
        wanted[own[:, None], own] = windows.inside(torch.tensor([window]))[0]
    assert (windows.visible(range(windows.positions)) == wanted).all()
    assert (windows.visible(range(3, 7)) == wanted[3:7]).all()


def test_the_windows_around_some_positions_are_those_they_lie_in(cut):
    windows, _ = cut
    some = range(3, min(11, windows.positions))
    assert windows.around(some) == sorted({windows.place(position)[0] for position in some})


@pytest.mark.parametrize(
    ("grid", "window", "shift"),
    [((8, 12), (3, 3), (0, 0)), ((8, 12), (4, 3), (4, 0)), ((8, 12), (4, 3), (0, -1))],
)
def test_windows_that_leave_a_rest_are_refused(grid, window, shift):
    with pytest.raises(ValueError, match="windows that fill the grid"):
        Windows(grid, window, shift)
