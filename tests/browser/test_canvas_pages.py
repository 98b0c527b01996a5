"""The canvas on pictures, and what holds for every view, in a real browser."""

import numpy as np
import pytest

from core.picture.canvas.encode import encode_map
from core.picture.canvas.views import Head, map_data, patches_data, sentence_data
from tests.browser.canvas_page import FIRST, TOKENS, plain, states, tile


def patches_of(photo, **options):
    rows = np.zeros((3, 2, 24), np.float32)
    rows[:, :, 11] = 0.5
    rows[2, 1, 11] = 0.25
    return patches_data(rows, photo, run="p", **{"query": (0, 0), **options})


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways(show, mosaic, weights, photo, width):
    maps = [map_data(encode_map(weights), TOKENS, TOKENS, run="r", view=v) for v in ("map", "arcs")]
    page = show(mosaic, sentence_data(TOKENS, run="r"), *maps, patches_of(photo), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_patches_lie_where_the_model_saw_them_v6(show, photo):
    page = show(patches_of(photo, selected=Head(2, 1)))
    width = page.evaluate(f"{FIRST}.view.layout.width")
    scale = width / 100
    # Patch (1, 5) of a 4 x 6 grid in the 60 x 60 square that starts 20 pixels from the left.
    at = {"x": (20 + 55) * scale, "y": 22.5 * scale}
    page.locator(".photo .over").hover(position=at)
    assert plain(page.locator(".tip").inner_text()) == ("patch 0,0 looks at patch 1,5: ≈ 0.25")
    assert page.get_by_text("not seen by the model").count() == 1
    page.locator(".photo .over").hover(position={"x": 5 * scale, "y": 30 * scale})
    assert page.locator(".tip").is_hidden()


def test_patch_query_and_head_are_sent_once_each(show, photo):
    page = show(patches_of(photo))
    scale = page.evaluate(f"{FIRST}.view.layout.width") / 100
    page.locator(".photo .over").click(position={"x": 75 * scale, "y": 22.5 * scale})
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.locator(".over").nth(1).click(position=tile(page, 0, 1))
    assert states(page) == [
        ["query", {"row": 1, "column": 5}],
        ["query", {"row": 2, "column": 5}],
        ["head", {"layer": 0, "head": 1}],
    ]


def test_prefix_query_is_named_with_its_weights(show, photo):
    prefix = np.full((3, 2, 2), 0.125, np.float32)
    data = patches_of(
        photo, query=1, prefix_labels=["CLS", "register 1"], prefix=prefix, direction="to"
    )
    page = show(data)
    title = plain(page.locator(".panel-title").inner_text())
    assert title == "layer 2, head 0 · what looks at register 1"
    pairs = [plain(text) for text in page.locator(".pair").all_inner_texts()]
    assert pairs == [
        "CLS looks at register 1\n0.125",
        "register 1 looks at register 1\n0.125",
    ]


def test_layers_play_and_stop_and_only_the_stop_is_sent(show, photo):
    page = show(patches_of(photo))
    page.locator(".play").click()
    page.wait_for_timeout(1200)
    page.locator(".play").click()
    layer = page.evaluate(f"{FIRST}.view.marks.chosen.layer")
    assert states(page) == [["head", {"layer": layer, "head": 0}]]


def test_whoever_asks_for_less_motion_steps_by_hand(show, photo):
    page = show(patches_of(photo), reduced_motion="reduce")
    page.locator(".play").click()
    page.wait_for_timeout(1200)
    assert page.evaluate(f"{FIRST}.view.marks.chosen.layer") == 0
    assert page.locator(".play").get_attribute("aria-label") == "Next layer"


def test_every_canvas_can_be_focused_and_has_a_name(show, mosaic, weights, photo):
    maps = [map_data(encode_map(weights), TOKENS, TOKENS, run="r", view=v) for v in ("map", "arcs")]
    page = show(mosaic, *maps, patches_of(photo))
    for canvas in page.locator(".over").all():
        assert canvas.get_attribute("tabindex") == "0"
        assert canvas.get_attribute("aria-label")
        assert canvas.get_attribute("role") == "application"
