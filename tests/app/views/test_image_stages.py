"""The image page with a Swin: its stages are chosen, and each lies on its own grid."""

import pytest

from app.words import say
from core.models import MODELS, Entry
from core.picture.canvas.views import Head
from tests.app.views.test_image_page import captions, group
from tests.core.models.vision.tiny_swin import saved

PICKER = "image_group_of_2"


@pytest.fixture
def page(open_page, tmp_path, monkeypatch):
    """The sample picture, read by a Swin of 8 x 12 and 4 x 6 patches."""
    folder = str(saved(tmp_path / "animals"))
    # On the list: AppTest loses a name that was typed.
    monkeypatch.setitem(MODELS, folder, Entry("Animals", "vision", "offline", ""))
    return choose(open_page("image"), folder)


def choose(page, model):
    page.selectbox(key="image_model").set_value(model)
    return page.button(key="image_run").click().run()


def table(page):
    if not page.toggle(key="image_table").value:
        page.toggle(key="image_table").set_value(True).run()
    return page.dataframe[0].value.set_index("position")["weight"]


def test_v3_a_swin_opens_at_its_last_stage_and_others_are_chosen(page):
    assert not page.exception
    assert not page.warning
    picker = group(page, PICKER)
    assert picker.label == say("image_stage")
    assert picker.options == ["stage 1 (8 x 12)", "stage 2 (4 x 6)"]
    assert picker.value == 1
    assert "8 x 12 patches" in captions(page)
    assert "verified" in captions(page)
    assert any(animal in captions(page) for animal in ("cat", "dog", "owl"))
    assert group(page, "image_named").options == ["patch 2,3"]
    assert len(table(page)) == 24
    group(page, PICKER).set_value(0).run()
    assert not page.exception
    # The place in the picture stays: the middle of a patch of four.
    assert group(page, "image_named").options == ["patch 5,7"]
    weights = table(page)
    assert len(weights) == 96
    assert weights.sum() == pytest.approx(1, abs=1e-5)
    assert (weights > 0).sum() <= 12  # a window of 4 x 3


def test_v3_what_looks_at_a_patch_lies_in_its_window(page):
    group(page, PICKER).set_value(0).run()
    patches = page.session_state["image_state"].patches
    patches.query = 0  # the corner, as a click sets it
    patches.head = Head(1, 0)  # in the layer whose windows are shifted
    page.run()
    group(page, "image_direction").set_value("to").run()
    assert not page.exception
    weights = table(page)
    assert set(weights[weights > 0].index) == {"patch 0,0", "patch 1,0"}


def test_a_mechanism_that_a_swin_cannot_take_is_explained(page):
    page.sidebar.selectbox(key="shared_mechanism").set_value("linear").run()
    assert not page.exception
    assert len(page.warning) == 1
    assert say("stale") in captions(page)


def test_from_a_swin_to_a_model_of_one_grid_and_back(page, tmp_path):
    choose(page, "focus-vit")
    assert not page.exception
    assert group(page, "image_named").options == ["CLS"]
    choose(page, str(tmp_path / "animals"))
    assert not page.exception
    assert group(page, PICKER).options[0] == "stage 1 (8 x 12)"
