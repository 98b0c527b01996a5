"""Overlays: at the place of what the model saw, in the picture as its owner knows it."""

import io

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from timm.models import VisionTransformer

from core.maps.head_view import Choice, labelled_query
from core.maps.labelled import LabelledMap
from core.models.geometry import Geometry
from core.models.vision.images import Picture, open_picture
from core.models.vision.model import VisionModel
from core.picture.canvas.scene import photo
from core.picture.colours.palettes import table
from core.picture.files.overlay import NOT_SEEN, overlay, overlay_png

# Resized to 32 high and 53 wide, the middle 32 x 32 taken: a 100 x 60 picture in a model of 32.
CROPPED = Geometry((60, 100), (32, 53), (10, 0, 42, 32), (8, 8), (4, 4), ("CLS",))
WHOLE = Geometry((32, 48), (32, 48), (0, 0, 48, 32), (8, 8), (4, 6), ("CLS",))


def tiny(**changed):
    torch.manual_seed(0)
    size = {"img_size": 32, "patch_size": 8, "embed_dim": 24, "depth": 2, "num_heads": 2}
    return VisionTransformer(**size, num_classes=0, **changed)


def pixels(image):
    return np.asarray(image).astype(int)


def red_square():
    """100 x 60, white, with a red square at its far left."""
    image = Image.new("RGB", (100, 60), "white")
    ImageDraw.Draw(image).rectangle((0, 20, 15, 40), fill="red")
    return Picture(image, "square")


@pytest.mark.parametrize("weight", [0.0, 1 / 24, 1.0])
def test_v6_a_constant_map_gives_a_flat_overlay_without_nan(weight):
    laid = pixels(overlay(np.full((4, 6), weight, dtype=np.float32), WHOLE))
    assert laid.shape == (32, 48, 4)
    assert len(np.unique(laid.reshape(-1, 4), axis=0)) == 1
    # No weight dims the picture only; any other constant is its own largest: the last colour at
    # 0.8 over black at 0.44 covers 0.888 of the picture.
    colour = table("cividis")[255] * (0.8 / 0.888)
    wanted = [0, 0, 0, 255 * 0.44] if weight == 0 else [*colour, 255 * 0.888]
    np.testing.assert_allclose(laid[0, 0], wanted, atol=1)


def test_v6_the_overlay_covers_what_the_model_saw_at_its_place_in_the_original():
    run = VisionModel(tiny(), "tiny").run(red_square())
    geometry = run.prepared.geometry
    # timm shows this module 0.875 of the height: 60 x 36 pixels, of them the 32 x 32 in the middle.
    assert (geometry.resized, geometry.crop) == ((36, 60), (14, 2, 46, 34))
    laid = pixels(overlay(np.ones(geometry.grid, dtype=np.float32), geometry, opacity=1.0))
    assert laid.shape == (60, 100, 4)
    yellow = (laid[..., :3] == table("cividis")[255]).all(axis=-1)
    # 14 of 60 are 23.3 of 100 and 46 are 76.7; 2 of 36 are 3.3 of 60 and 34 are 56.7.
    wanted = np.zeros((60, 100), dtype=bool)
    wanted[3:57, 23:77] = True
    np.testing.assert_array_equal(yellow, wanted)
    # So the red square, which ends at 16, is one of the things that were not seen.
    shown = red_square().pixels.convert("RGBA")
    shown.alpha_composite(overlay(np.ones(geometry.grid, dtype=np.float32), geometry))
    assert not (pixels(shown)[20:41, :16] == [255, 0, 0, 255]).all(axis=-1).any()


def test_v6_the_rest_is_hatched():
    laid = pixels(overlay(np.ones((4, 4), dtype=np.float32), CROPPED))
    for hidden in (laid[:, :18], laid[:, 80:]):
        kinds = np.unique(hidden.reshape(-1, 4), axis=0)
        assert len(kinds) == 2
        darker, lighter = sorted(kinds.tolist())
        assert darker[3] >= NOT_SEEN[3]
        assert lighter[0] > darker[0] + 50
        assert 0.05 < (hidden[..., 0] == lighter[0]).mean() < 0.5


def test_v6_each_patch_lies_where_the_geometry_says():
    for row, column in ((0, 0), (1, 3), (3, 2)):
        weights = np.zeros((4, 4), dtype=np.float32)
        weights[row, column] = 1.0
        laid = pixels(overlay(weights, CROPPED, opacity=1.0))
        yellow = (laid[..., :3] == table("cividis")[255]).all(axis=-1)
        ys, xs = yellow.nonzero()
        box = CROPPED.patch_box(row, column)
        found = xs.min(), ys.min(), xs.max() + 1, ys.max() + 1
        np.testing.assert_allclose(found, box, atol=1.0)


def test_v6_exif_orientation_6_shows_upright_overlay_included():
    # A 40 x 20 file whose left half is blue; turned a quarter clockwise, blue comes on top.
    image = Image.new("RGB", (40, 20), "white")
    ImageDraw.Draw(image).rectangle((0, 0, 19, 19), fill="blue")
    exif = Image.Exif()
    exif[0x0112] = 6
    file = io.BytesIO()
    image.save(file, format="PNG", exif=exif)
    picture = open_picture(file.getvalue(), "turned")
    assert picture.pixels.size == (20, 40)
    model = VisionModel(tiny(dynamic_img_size=True), "tiny", long_side=32)
    run = model.run(picture)
    geometry = run.prepared.geometry
    assert geometry.grid == (4, 2)
    assert overlay(np.ones((4, 2), dtype=np.float32), geometry).size == (20, 40)
    sent = photo(picture, geometry)
    assert (sent.width, sent.height) == (20, 40)
    data = overlay_png(picture, geometry, labelled_query(run, Choice(), 0, "turned"))
    drawn = pixels(Image.open(io.BytesIO(data)).convert("RGB"))
    seen = drawn[150:-180, drawn.shape[1] // 2]  # a column through the picture alone
    quarter = len(seen) // 4
    bluer = seen[:, 2] - seen[:, 0]
    assert bluer[:quarter].mean() > bluer[-quarter:].mean() + 20


def test_the_overlay_looks_as_the_canvas_draws_it():
    # photo.js: black at 0.55 x opacity, then the colour at opacity x 1.25 x its entry, root scale.
    weights = np.array([[1.0, 0.25], [0.01, 0.0]], dtype=np.float32)
    geometry = Geometry((2, 2), (2, 2), (0, 0, 2, 2), (1, 1), (2, 2))
    picture = np.full((2, 2, 3), 200.0)
    laid = overlay(weights, geometry, "viridis", 0.8)
    shown = Image.fromarray(picture.astype(np.uint8)).convert("RGBA")
    shown.alpha_composite(laid)
    wanted = picture * (1 - 0.55 * 0.8)
    for (row, column), weight in np.ndenumerate(weights):
        entry = round(255 * weight**0.5)
        alpha = 0.8 * min(255.0, 1.25 * entry) / 255
        colour = table("viridis")[entry]
        wanted[row, column] = alpha * colour + (1 - alpha) * wanted[row, column]
    np.testing.assert_allclose(pixels(shown)[..., :3], wanted, atol=2.5)


@pytest.mark.parametrize("size", [(1, 1), (48, 32), (20, 5000), (5000, 20)])
def test_a_picture_of_any_shape_is_drawn_no_larger_than_a_page(size):
    picture = Picture(Image.new("RGB", size, "grey"), "any")
    width, height = size
    geometry = Geometry((height, width), (32, 48), (0, 0, 48, 32), (8, 8), (4, 6), ("CLS",))
    run = VisionModel(tiny(dynamic_img_size=True), "tiny", long_side=48).run(
        Picture(Image.new("RGB", (48, 32), "grey"), "any")
    )
    row = labelled_query(run, Choice(), 0, "any")
    drawn = Image.open(io.BytesIO(overlay_png(picture, geometry, row)))
    assert max(drawn.size) <= 1500


def test_a_column_is_laid_on_the_picture_like_a_row():
    about = labelled_query(
        VisionModel(tiny(dynamic_img_size=True), "tiny", long_side=48).run(
            Picture(Image.new("RGB", (48, 32), "grey"), "any")
        ),
        Choice(), 0, "any",
    ).about  # fmt: skip
    values = np.linspace(0, 1, 25, dtype=np.float32)
    names = tuple(str(index) for index in range(25))
    picture = Picture(Image.new("RGB", (48, 32), "grey"), "any")
    row = overlay_png(picture, WHOLE, LabelledMap(values[None], ("x",), names, about))
    column = overlay_png(picture, WHOLE, LabelledMap(values[:, None], names, ("x",), about))
    assert row == column
