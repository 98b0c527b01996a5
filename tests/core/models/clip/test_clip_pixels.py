"""From a picture to CLIP's pixels and back: open_clip's own tensor, each patch at its place."""

import numpy as np
import pytest
import torch
from open_clip.transform import PreprocessCfg, image_transform_v2
from PIL import Image

from core.models.clip.pixels import Pixels
from core.models.vision.images import Picture
from tests.core.models.clip.tiny import pictures

CONFIGS = {
    "shortest": PreprocessCfg(size=56),
    "shortest, bilinear": PreprocessCfg(size=56, interpolation="bilinear"),
    "shortest, not square": PreprocessCfg(size=(56, 42), interpolation="bilinear"),
    "longest": PreprocessCfg(size=56, resize_mode="longest", fill_color=7),
    "squash": PreprocessCfg(size=(56, 42), resize_mode="squash", mean=(0.5,) * 3, std=(0.5,) * 3),
}
SHAPES = [(97, 211), (211, 97), (41, 43), (56, 56), (61, 170)]


@pytest.fixture(params=CONFIGS)
def pixels(request):
    config = CONFIGS[request.param]
    size = config.size if isinstance(config.size, tuple) else (config.size,) * 2
    return Pixels(config, (7, 7), (size[0] // 7, size[1] // 7), ("CLS",))


def ramp(shape):
    """Red grows along x and green along y, from 0 to 255."""
    down, across = (np.linspace(0, 255, side) for side in shape)
    grid = np.stack([*np.meshgrid(across, down), np.zeros(shape)], axis=-1)
    return Picture(Image.fromarray(grid.round().astype(np.uint8)), "ramp.png")


def test_pixels_equal_open_clips_own_bit_for_bit(pixels):
    transform = image_transform_v2(pixels.config, is_train=False)
    for picture in pictures():
        assert torch.equal(pixels(picture), transform(picture.pixels))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_patch_shows_the_part_of_the_picture_that_its_box_says(pixels, shape):
    picture = ramp(shape)
    geometry = pixels.geometry(shape)
    mean, std = (torch.tensor(list(numbers))[:, None, None] for numbers in
                 (pixels.config.mean, pixels.config.std))  # fmt: skip
    seen = (pixels(picture) * std + mean) * 255
    whole = 0
    for row in range(geometry.grid[0]):
        for column in range(geometry.grid[1]):
            box = geometry.patch_box(row, column)
            full = (7 * shape[1] / geometry.resized[1], 7 * shape[0] / geometry.resized[0])
            size = (box.right - box.left, box.bottom - box.top)
            if not np.allclose(size, full):
                continue  # partly in the filling
            whole += 1
            patch = seen[:, 7 * row : 7 * row + 7, 7 * column : 7 * column + 7].mean(dim=(1, 2))
            centre = ((box.left + box.right) / 2 - 0.5) / (shape[1] - 1) * 255
            middle = ((box.top + box.bottom) / 2 - 0.5) / (shape[0] - 1) * 255
            assert abs(patch[0] - centre) < 2.5
            assert abs(patch[1] - middle) < 2.5
    assert whole > 5


def test_a_wide_picture_is_cut_in_its_middle_and_says_so():
    pixels = Pixels(PreprocessCfg(size=56), (7, 7), (8, 8), ("CLS",))
    geometry = pixels.geometry((60, 100))
    assert geometry.resized == (56, 93)
    assert geometry.crop == (18, 0, 74, 56)
    assert geometry.tokens == 65
    assert not geometry.whole
    assert geometry.seen_box.left == pytest.approx(18 * 100 / 93)
    assert "its middle; the rest was cut off." in pixels.notes(ramp((60, 100)))[1]


def test_a_squashed_picture_is_seen_whole():
    pixels = Pixels(PreprocessCfg(size=56, resize_mode="squash"), (7, 7), (8, 8), ())
    assert pixels.geometry((60, 100)).whole
    assert len(pixels.notes(ramp((60, 100)))) == 1


def test_a_filled_picture_is_seen_whole_and_says_so():
    pixels = Pixels(PreprocessCfg(size=56, resize_mode="longest"), (7, 7), (8, 8), ())
    geometry = pixels.geometry((50, 100))
    assert geometry.resized == (28, 56)
    assert geometry.crop == (0, -14, 56, 42)
    assert geometry.whole
    assert geometry.patch_box(0, 0).bottom == 0  # a patch of nothing but filling
    assert pixels.notes(ramp((50, 100)))[0].endswith("filled up to 56 x 56.")


def test_grey_128_through_openais_preprocessing_c6():
    pixels = Pixels(PreprocessCfg(), (16, 16), (14, 14), ("CLS",))
    grey = Picture(Image.new("RGB", (301, 199), (128, 128, 128)), "grey.png")
    for channel, value in zip(pixels(grey), (0.076, 0.169, 0.340), strict=True):
        assert channel.numpy() == pytest.approx(np.full((224, 224), value), abs=5e-4)
