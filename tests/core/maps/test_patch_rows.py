"""Readings of a picture: rows and columns of its heads' maps, and positions by their names."""

import numpy as np
import pytest
import torch
from PIL import Image
from timm.models import VisionTransformer

from core import maps
from core.errors import InputError
from core.maps.head_view import Choice, head_view, labelled_query, patch_rows, query_position
from core.models.run import Run
from core.models.vision.images import Picture
from core.models.vision.model import VisionModel


@pytest.fixture(scope="module")
def seen() -> Run:
    """A grid of 2 x 3 patches behind CLS and two registers."""
    torch.manual_seed(0)
    module = VisionTransformer(
        img_size=32, patch_size=8, embed_dim=24, depth=3, num_heads=2, num_classes=0,
        reg_tokens=2, dynamic_img_size=True,
    )  # fmt: skip
    noise = np.random.default_rng(0).integers(0, 255, (16, 24, 3), dtype=np.uint8)
    model = VisionModel(module, "tiny", long_side=24)
    return model.run(Picture(Image.fromarray(noise), "noise"))


@pytest.mark.parametrize("query", [0, 2, 7])
def test_patch_rows_are_rows_and_columns_of_the_head_maps(seen, query):
    rows, columns = patch_rows(seen, query), patch_rows(seen, query, looked_at=True)
    assert rows.shape == columns.shape == (3, 2, 9)
    for layer in range(3):
        for head in range(2):
            whole = maps.head_map(seen.trace.calls[layer], head).numpy()
            np.testing.assert_allclose(rows[layer, head], whole[query], atol=1e-6)
            np.testing.assert_allclose(columns[layer, head], whole[:, query], atol=1e-6)


def test_a_query_to_take_away_is_a_row_and_what_looks_at_it_a_column(seen):
    choice = Choice(layer=1, head=1)
    whole = head_view(seen, choice)
    names = tuple(position.label for position in whole.keys)
    row = labelled_query(seen, choice, 4, "noise")
    np.testing.assert_allclose(row.weights, whole.weights[4:5], atol=1e-6)
    assert (row.rows, row.columns) == (("patch 0,1",), names)
    assert row.about.note == "what patch 0,1 looks at"
    column = labelled_query(seen, choice, 4, "noise", looked_at=True)
    np.testing.assert_allclose(column.weights, whole.weights[:, 4:5], atol=1e-6)
    assert (column.rows, column.columns) == (names, ("patch 0,1",))
    assert column.about.note == "what looks at patch 0,1"


@pytest.mark.parametrize(
    ("name", "position"),
    [(None, 0), ("CLS", 0), ("register 2", 2), ("0,0", 3), ("1,2", 8), ("1, 2", 8),
     ("patch 1,0", 6)],
)  # fmt: skip
def test_query_position_knows_prefix_and_patches_by_name(seen, name, position):
    assert query_position(seen, name) == position


@pytest.mark.parametrize("name", ["", "2,0", "0,3", "register 3", "-1,0", "12"])
def test_query_position_refuses_what_the_picture_does_not_have(seen, name):
    with pytest.raises(InputError) as refused:
        query_position(seen, name)
    assert str(refused.value) == (
        f"A query such as CLS, register 1, register 2, 0,0 to 1,2 was wanted; '{name}' came."
    )
