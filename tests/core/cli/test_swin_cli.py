"""`python -m core maps` with a Swin: layers count through its stages, patches by their own grid."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from core.__main__ import main
from tests.core.models.vision.tiny_swin import noise, saved


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A picture, a model, and where files go."""
    root = tmp_path_factory.mktemp("swin")
    noise(32, 48).pixels.save(root / "noise.png")
    saved(root / "animals")
    return root


@pytest.fixture
def write(given, capsys, monkeypatch):
    """Writes a map; returns what was said."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)

    def written(name, *options):
        where = ["maps", given / "noise.png", "--model", given / "animals", "--device", "cpu"]
        code = main([str(part) for part in (*where, *options, "--out", given / name)])
        said = capsys.readouterr()
        return code, said.err

    return written


def test_a_layer_is_counted_through_all_stages(write, given):
    code, said = write("map.npz", "--layer", 3, "--head", 2)
    assert code == 0
    assert said.splitlines()[-1] == "Layer 3 is layer 1 of stage 2 (4 x 6)."
    with np.load(given / "map.npz") as file:
        assert file["weights"].shape == (24, 24)
        assert list(file["rows"][[0, -1]]) == ["patch 0,0", "patch 3,5"]
        np.testing.assert_allclose(file["weights"].sum(axis=1), np.ones(24), rtol=1e-5)
        about = json.loads(str(file["about"]))
    assert (about["layer"], about["head"], about["note"]) == (1, 2, "stage 2 (4 x 6)")


def test_a_query_is_a_patch_of_the_layers_own_grid(write, given):
    assert write("row.csv", "--layer", 1, "--query", "7,11")[0] == 0
    with (given / "row.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[-1][0] == "patch 7,11"
    assert len(rows[-1]) == 1 + 96
    code, said = write("row.csv", "--layer", 2, "--query", "7,11")
    assert code == 2
    assert said == "A query such as 0,0 to 3,5 was wanted; '7,11' came.\n"


@pytest.mark.parametrize(("layer", "grid"), [(0, [8, 12]), (4, [4, 6])])
def test_pictures_and_pages_lie_on_the_layers_own_grid(write, given, layer, grid):
    assert write("map.png", "--layer", layer, "--query", "3,4")[0] == 0
    Image.open(given / "map.png").verify()
    assert write("map.html", "--layer", layer, "--query", "3,4")[0] == 0
    page = (given / "map.html").read_text()
    start = page.index('id="views">') + len('id="views">')
    views = json.loads(page[start : page.index("</script>", start)])
    (view,) = views if isinstance(views, list) else [views]
    assert view["photo"]["grid"] == grid
    assert view["query"] == {"row": 3, "column": 4}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--layer", 5), "'animals': a layer from 0 to 4 was wanted; 5 came.\n"),
        (("--layer", -1), "'animals': a layer from 0 to 4 was wanted; -1 came.\n"),
        (("--head", 2), "'animals': a head from 0 to 1 was wanted; 2 came.\n"),
    ],
)
def test_a_layer_or_head_that_is_not_there_is_named(write, options, message):
    assert write("map.npz", *options) == (2, message)
