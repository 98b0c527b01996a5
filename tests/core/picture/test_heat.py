"""Heat maps: what has no colour, what has the full one, and that the picture to keep agrees."""

import base64
import io
import zlib

import numpy as np
import pytest
from PIL import Image

from core.models.geometry import Geometry
from core.models.vision.images import Picture
from core.picture.canvas.scene import heat_scene, token_scene
from core.picture.canvas.views import Photo
from core.picture.colours.heat_scale import heat_scale, shares
from core.picture.colours.palettes import ON_DARK, ON_LIGHT, diverging_table, table
from core.picture.files.heat import heat_overlay, heat_png
from core.picture.files.thumbnail import thumbnail

# Resized to 32 high and 53 wide, the middle 32 x 32 taken.
CROPPED = Geometry((60, 100), (32, 53), (10, 0, 42, 32), (8, 16), (4, 2), ("CLS",))
PHOTO = Photo("data:image/jpeg;base64,", 100, 60, (20.0, 0.0, 80.0, 60.0), (4, 2))
SIGNED = np.array([[0.5, -0.25], [0.0, 0.1], [0.2, -0.1], [0.3, 0.0]], np.float32)


def decoded(values: dict) -> np.ndarray:
    above = values["above"]
    levels = np.frombuffer(zlib.decompress(base64.b64decode(above["data"])), "<u2")
    return (levels / 65535 * above["top"] + values["least"]).reshape(above["shape"])


def test_relevance_runs_from_zero():
    assert heat_scale(SIGNED + 0.25, diverging=False)[:3] == pytest.approx((0, 0, 0.75))


def test_a_difference_diverges_alike_to_both_sides_of_zero():
    assert heat_scale(SIGNED, diverging=True)[:3] == pytest.approx((-0.5, 0, 0.5))


def test_cosines_diverge_from_their_mean():
    scale = heat_scale(SIGNED + 0.1, diverging=True, middle="mean")
    # The mean of SIGNED is 0.75 / 8; 0.6 is farthest from it.
    assert scale[:3] == pytest.approx((0.19375 - 0.40625, 0.19375, 0.6))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="finite"):
        heat_scale(np.array([1.0, value], np.float32), diverging=True)


def test_a_negative_relevance_is_refused():
    with pytest.raises(ValueError, match="0 or more were wanted; the lowest is -0.25"):
        heat_scale(SIGNED, diverging=False)


@pytest.mark.parametrize(("diverging", "clear"), [(False, 0.0), (True, 0.5)])
def test_where_nothing_differs_nothing_is_coloured(diverging, clear):
    zeros = np.zeros((4, 2), np.float32)
    assert (shares(zeros, heat_scale(zeros, diverging=diverging)) == clear).all()
    same = np.full((4, 2), 0.3, np.float32)
    assert (shares(same, heat_scale(same, diverging=True, middle="mean")) == 0.5).all()


def test_diverging_tables_are_alike_in_weight_at_both_ends_and_differ_in_hue():
    for ground, is_bright in ((ON_DARK, True), (ON_LIGHT, False)):
        low, middle, high = diverging_table(ground)[[0, 128, 255]].astype(int)
        assert low[2] > low[0]  # blue below
        assert high[0] > high[2]  # orange above
        assert (low.sum() > middle.sum()) == (high.sum() > middle.sum()) == is_bright
    with pytest.raises(ValueError, match="'jet' came"):
        diverging_table("jet")


def test_the_browser_is_sent_the_numbers_of_either_sign():
    data = heat_scene(SIGNED, PHOTO, run="r", title="t", unit="cosine", diverging=True)
    np.testing.assert_allclose(decoded(data["values"]), SIGNED, atol=0.75 / 65535)
    assert data["scale"]["clear"] == 0.0
    assert set(data["tables"]) == {"on_dark", "on_light"}


def test_values_must_fill_the_grid():
    with pytest.raises(ValueError, match=r"\(2, 4\) came"):
        heat_scene(SIGNED.T, PHOTO, run="r", title="t", unit="cosine", diverging=True)
    with pytest.raises(ValueError, match=r"\(2, 4\) came"):
        heat_png(Picture(Image.new("RGB", (100, 60)), "p"), CROPPED, SIGNED.T, "t", diverging=True)


def test_tokens_want_one_value_each():
    with pytest.raises(ValueError, match="2 values were wanted, one a token; 3 came"):
        token_scene(["a", "b"], np.ones(3, np.float32), run="r")


def test_overlay_lies_where_the_model_saw_and_is_clear_at_zero():
    scale = heat_scale(SIGNED, diverging=True)
    laid = np.asarray(heat_overlay(SIGNED, scale, CROPPED, opacity=1.0))
    # Columns 10 to 42 of 53 are 19 to 79 of 100; each patch is 30 wide and 15 high.
    ends = diverging_table(ON_DARK)
    assert laid[7, 30].tolist() == [*ends[255], 255]  # 0.5
    assert laid[20, 30].tolist()[:3] == [0, 0, 0]  # 0: only dimmed
    # -0.25 is half the way to blue: entry 64, whose alpha is 1.25 x 126 over black at 0.55.
    alpha, ground = 157 / 255, 0.55 * 98 / 255
    np.testing.assert_allclose(laid[7, 65, :3], ends[64] * alpha / (alpha + ground), atol=2)
    assert len(np.unique(laid[:, :18].reshape(-1, 4), axis=0)) == 2  # hatched


def test_relevance_overlay_uses_the_palette_linearly():
    values = np.array([[1.0, 0.5]] * 4, np.float32)
    laid = np.asarray(
        heat_overlay(values, heat_scale(values, diverging=False), CROPPED, "viridis", 1.0)
    )
    assert laid[7, 30].tolist() == [*table("viridis")[255], 255]
    # Half of 255 rounds to 128, whose alpha is 1.25 x 128 = 160 over black at 0.55.
    alpha, ground = 160 / 255, 0.55 * 95 / 255
    colour = table("viridis")[128] * alpha / (alpha + ground)
    np.testing.assert_allclose(laid[7, 65, :3], colour, atol=2)


def test_picture_to_keep_carries_title_and_provenance():
    picture = Picture(Image.new("RGB", (100, 60), "grey"), "p")
    data = heat_png(picture, CROPPED, SIGNED, "“a” less “b”", diverging=True, about=["model: m"])
    assert Image.open(io.BytesIO(data)).text["Description"] == "“a” less “b”\nmodel: m"


@pytest.mark.parametrize("size", [(1, 1), (20, 3000), (3000, 20)])
@pytest.mark.parametrize("value", [0.0, 0.3])
def test_any_shape_and_a_constant_map_are_drawn(size, value):
    picture = Picture(Image.new("RGB", size, "grey"), "p")
    geometry = Geometry((size[1], size[0]), (32, 32), (0, 0, 32, 32), (8, 16), (4, 2))
    data = heat_png(picture, geometry, np.full((4, 2), value, np.float32), "t")
    assert max(Image.open(io.BytesIO(data)).size) <= 1500


def test_a_thumbnail_of_a_photograph_takes_a_kilobyte_or_two():
    noise = np.random.default_rng(0).integers(0, 255, (30, 40, 3)).astype(np.uint8)
    pixels = Image.fromarray(noise).resize((400, 300), Image.Resampling.BICUBIC)
    url = thumbnail(Picture(pixels, "p"))
    assert len(url) < 3_000
    small = Image.open(io.BytesIO(base64.b64decode(url.split(",")[1])))
    assert (small.format, small.size) == ("WEBP", (64, 48))
