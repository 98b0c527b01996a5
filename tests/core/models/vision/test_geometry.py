"""Patches and pixels: the token of a patch, and the place of a token in the original picture."""

import pytest

from core.models.geometry import Box, Geometry
from core.models.vision.preprocess import Preprocessing

IMAGENET = {"mean": (0.485, 0.456, 0.406), "std": (0.229, 0.224, 0.225)}


def preprocessing(size=(32, 32), patch=(8, 8), prefix=("CLS",), **changed):
    given = {"interpolation": "bicubic", "crop_pct": 1.0, "squash": False, "long_side": None}
    return Preprocessing(size, patch, prefix, **IMAGENET, **(given | changed))


def test_v1_a_wide_picture_gives_a_wide_grid_and_row_major_tokens():
    geometry = preprocessing(long_side=48).geometry((32, 48))
    assert geometry.grid == (4, 6)
    assert geometry.tokens == len(geometry.positions()) == 25
    assert geometry.token(1, 5) == 12
    assert geometry.positions()[12].label == "patch 1,5"
    assert geometry.positions()[12].patch == (1, 5)


def test_v1_sides_that_patches_do_not_divide_are_rounded_to_the_nearest():
    geometry = preprocessing(long_side=45).geometry((30, 45))
    assert geometry.resized == (32, 48)
    assert geometry.seen_box == Box(0, 0, 45, 30)
    assert geometry.patch_box(3, 5) == pytest.approx((37.5, 22.5, 45, 30))


def test_v1_a_margin_that_no_patch_covers_is_not_seen():
    geometry = preprocessing(size=(30, 45)).geometry((30, 45))
    assert geometry.grid == (3, 5)
    assert geometry.seen_box == Box(0, 0, 40, 24)
    assert not geometry.whole


@pytest.mark.parametrize(
    ("prefix", "original", "patch", "grid"),
    [
        (("CLS", "register 1", "register 2", "register 3", "register 4"), (28, 42), 14, (2, 3)),
        (("CLS", "DIST"), (32, 32), 8, (4, 4)),
        ((), (224, 224), 16, (14, 14)),
    ],
)
def test_v2_prefix_tokens_are_named_and_come_before_the_patches(prefix, original, patch, grid):
    geometry = Geometry(original, original, (0, 0, *original[::-1]), (patch, patch), grid, prefix)
    positions = geometry.positions()
    assert tuple(position.label for position in positions if position.special) == prefix
    assert positions[len(prefix)].label == "patch 0,0"
    assert geometry.token(0, 0) == len(prefix)
    assert geometry.token(grid[0] - 1, grid[1] - 1) == geometry.tokens - 1


def test_v6_the_overlay_covers_only_the_middle_that_was_seen():
    geometry = preprocessing().geometry((60, 100))
    assert geometry.resized == (32, 53)
    left, right = geometry.seen_box.left, geometry.seen_box.right
    # 53 resized columns stand for 100; the crop takes 32 of them from the tenth on (10.5, to even).
    assert (left, right) == pytest.approx((10 * 100 / 53, 42 * 100 / 53))
    assert (geometry.seen_box.top, geometry.seen_box.bottom) == (0, 60)


def test_a_padded_crop_is_not_seen_beyond_the_picture():
    geometry = preprocessing(crop_pct=2.0).geometry((60, 60))
    assert geometry.resized == (16, 16)
    assert geometry.seen_box == Box(0, 0, 60, 60)


def test_very_long_pictures_keep_one_row_of_patches():
    assert preprocessing(long_side=48).geometry((2, 1000)).grid == (1, 6)


def test_a_patch_outside_the_grid_is_refused():
    geometry = preprocessing().geometry((32, 32))
    with pytest.raises(ValueError, match=r"grid of 4 x 4 was wanted; \(4, 0\) came"):
        geometry.patch_box(4, 0)
