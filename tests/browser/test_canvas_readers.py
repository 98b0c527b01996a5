"""For readers of text: one scale for all heads, and bytes that say what they are parts of."""

import numpy as np

from core.maps.choices import Choice, HeadView
from core.picture.canvas.encode import encode_each
from core.picture.canvas.scene import head_scene, sentence_scenes
from core.picture.canvas.views import mosaic_data
from core.types import Position
from tests.browser.canvas_page import cell, colour, plain, tile


def test_on_one_scale_a_head_of_small_weights_is_pale(show):
    grids = np.full((1, 2, 1, 1), 0.1, np.float32)
    grids[0, 1] = 0.9
    page = show(mosaic_data(encode_each(grids), run="r"))
    weak, strong = (colour(page, tile(page, 0, head)) for head in (0, 1))
    assert weak == strong  # each on its own scale
    page.get_by_role("button", name="one scale").click()
    weak_on_one, strong_on_one = (colour(page, tile(page, 0, head)) for head in (0, 1))
    assert strong_on_one == strong
    assert sum(weak_on_one) > sum(strong)  # nearer to the white page
    assert "the strongest colour is 0.9" in plain(page.locator(".caption").inner_text())
    page.locator(".over").hover(position=tile(page, 0, 0))
    assert plain(page.locator(".tip").inner_text()) == "layer 0, head 0\nlargest weight 0.1"


def test_bytes_of_one_character_say_so(show):
    tokens = tuple(Position(label) for label in ("a", "<E5 8A>", "<A8>"))
    view = HeadView(np.full((3, 3), 1 / 3, np.float32), None, tokens, tokens)
    page = show(head_scene(view, Choice(), run="r"), *sentence_scenes(view, run="r"))
    page.locator(".over").hover(position=cell(page, 2, 0))
    lines = page.locator(".tip").first.inner_text().split("\n")
    assert lines == ["“<A8>” looks at “a”: 0.333", "<A8>: bytes of “动”"]
    titles = [plain(chip.get_attribute("title")) for chip in page.locator(".chip").all()]
    assert titles == ["", "<E5 8A>: bytes of “动”", "<A8>: bytes of “动”"]
