"""Pictures as they are shown: arcs, a pinned row, the scale of the colours."""

import io

import numpy as np
import pytest
from PIL import Image

from core.maps.labelled import LabelledMap, Provenance
from core.picture.files.arcs import lines, to_arcs_png
from core.picture.files.export import to_png

WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.6, 0.4, 0.0], [0.5, 0.3, 0.2]], np.float32)
ACCENT = (0xD9, 0x48, 0x0F)


def labelled(weights=WEIGHTS) -> LabelledMap:
    rows, columns = (tuple(f"${at}" for at in range(size)) for size in weights.shape)
    return LabelledMap(weights, rows, columns, Provenance("tiny", "own", "flash (cpu)", 0, 0, "a"))


def pixels(data: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).reshape(-1, 3)


def test_every_weight_that_can_be_seen_is_a_line_the_strongest_on_top():
    drawn = [(query, key, round(share, 3)) for query, key, share in lines(WEIGHTS)]
    assert drawn == [
        (2, 2, 0.2), (2, 1, 0.3), (1, 1, 0.4), (2, 0, 0.5), (1, 0, 0.6), (0, 0, 1.0)
    ]  # fmt: skip


def test_a_pinned_query_has_its_own_lines_on_its_own_scale():
    drawn = [(query, key, round(share, 3)) for query, key, share in lines(WEIGHTS, pin=2)]
    assert drawn == [(2, 2, 0.4), (2, 1, 0.6), (2, 0, 1.0)]


def test_of_many_tokens_the_400_strongest_lines_are_drawn():
    weights = np.full((131, 131), 1 / 131, np.float32)
    assert len(list(lines(weights))) == 400


@pytest.mark.parametrize("draw", [to_png, to_arcs_png])
def test_a_pinned_row_is_marked_in_the_picture(draw):
    assert (pixels(draw(labelled(), pin=1)) == ACCENT).all(axis=1).any()
    assert not (pixels(draw(labelled())) == ACCENT).all(axis=1).any()


def test_a_small_weight_is_darker_on_the_square_root_scale():
    weights = np.array([[1.0, 0.04]], np.float32)
    linear, root = (
        Image.open(io.BytesIO(to_png(labelled(weights), scale=scale))).convert("L")
        for scale in ("linear", "sqrt")
    )
    assert np.asarray(root).mean() < np.asarray(linear).mean()
