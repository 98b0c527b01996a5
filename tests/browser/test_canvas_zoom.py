"""Zooming a long map in a real browser: what is asked for, what is told, what other views hear."""

import numpy as np
import pytest

from core.maps.long_rows import Passage
from core.maps.regions import CellLayout, Region
from core.picture.canvas.encode import encode_map
from core.picture.canvas.excerpt import excerpt_data
from core.picture.canvas.views import map_data
from core.picture.canvas.zoom import zoom_data
from core.types import Position
from tests.browser.canvas_page import FIRST, cell, colour, plain, states

OF = (4096, 2048)
REST = 400  # milliseconds after which a wish has been sent


def long_map(region=None, cells=(8, 4), run="r"):
    """A map whose every region has cells of its own weights; query labels q0, q1, ..."""
    region = region or Region((0, OF[0]), (0, OF[1]))
    rows, columns = (-(-side // cell) for side, cell in zip(region.sides, cells, strict=True))
    weights = np.random.default_rng(0).random((rows, columns)).astype(np.float32)
    labels = [[f"{name}{index}" for index in range(n)] for name, n in (("q", rows), ("k", columns))]
    overview = np.eye(32, dtype=np.float32)
    data = map_data(encode_map(weights), *labels, run=run, scale="sqrt")
    return {**data, **zoom_data(CellLayout(region, cells, OF), overview)}


def tile():
    """100 x 100 exact weights from query 1,000 and key 500 on."""
    return long_map(Region((1000, 1100), (500, 600)), (1, 1))


def answer(page, data):
    """What Streamlit does when the server has made the wanted region."""
    page.evaluate(
        f"(data) => {{ const frame = {FIRST}; frame.data = data; frame.view.update(); }}", data
    )
    page.wait_for_timeout(100)


def seen(page):
    region = page.evaluate(f"{FIRST}.view.want ?? {FIRST}.data.region")
    return {side: region[side] for side in "qk"}


def asked(page):
    page.wait_for_timeout(REST)
    return [value for name, value in states(page) if name == "region"]


def button(page, name):
    return page.get_by_role("button", name=name, exact=True)


def test_buttons_ask_for_half_and_double_and_for_single_weights(show):
    page = show(long_map())
    button(page, "Zoom in").click()
    assert asked(page) == [{"q": [1024, 3072], "k": [512, 1536]}]
    assert "coming" in page.locator(".told").inner_text()
    button(page, "Zoom in to single weights").click()
    button(page, "Zoom out").click()
    # One request, once the hand rests: a quarter of 2,048 and twice that again.
    assert asked(page)[1:] == [{"q": [1536, 2560], "k": [768, 1280]}]
    button(page, "Show the whole map").click()
    assert asked(page)[2:] == [{"q": [0, 4096], "k": [0, 2048]}]


def test_what_would_do_nothing_is_said_to_be_off(show):
    page = show(long_map(), tile())
    for name, off in (
        ("Zoom in", [0, 0]),
        ("Zoom out", [1, 0]),
        ("Zoom in to single weights", [0, 1]),
    ):
        found = [node.get_attribute("aria-disabled") for node in button(page, name).all()]
        assert found == [str(bool(flag)).lower() for flag in off]
    button(page, "Zoom out").first.dispatch_event("click")
    assert asked(page) == []


def test_the_wheel_is_the_page_s_until_the_map_is_clicked_or_ctrl_is_held(show):
    page = show(long_map())
    over = page.locator(".over")
    over.hover(position=cell(page, 256, 256))
    page.mouse.wheel(0, -240)
    assert asked(page) == []
    page.keyboard.down("Control")
    page.mouse.wheel(0, -240)
    page.keyboard.up("Control")
    assert near(asked(page)[0], {"q": [1024, 3072], "k": [512, 1536]})
    answer(page, long_map(Region((1024, 3072), (512, 1536)), (4, 2)))
    over.focus()
    page.mouse.wheel(0, -240)
    assert len(asked(page)) == 2


def near(found, wanted):
    return all(
        abs(a - b) <= 16 for side in "qk" for a, b in zip(found[side], wanted[side], strict=True)
    )


def test_the_point_under_the_pointer_stays_where_it_is(show):
    page = show(long_map())
    over = page.locator(".over")
    over.focus()
    over.hover(position=cell(page, 0, 511))
    page.mouse.wheel(0, -240)
    # The top right corner: it stays in the region, at its corner.
    assert near(asked(page)[0], {"q": [0, 2048], "k": [1024, 2048]})


def test_keys_zoom_move_and_go_back(show):
    page = show(tile())
    page.locator(".over").focus()
    page.keyboard.press("-")
    assert seen(page) == {"q": [950, 1150], "k": [450, 650]}
    page.keyboard.press("Shift+ArrowDown")
    assert seen(page) == {"q": [1000, 1200], "k": [450, 650]}
    page.keyboard.press("Shift+ArrowLeft")
    assert seen(page) == {"q": [1000, 1200], "k": [400, 600]}
    page.keyboard.press("+")
    assert seen(page) == {"q": [1050, 1150], "k": [450, 550]}
    assert asked(page) == [{"q": [1050, 1150], "k": [450, 550]}]
    page.keyboard.press("Escape")
    assert asked(page)[1:] == [{"q": [0, 4096], "k": [0, 2048]}]
    assert plain(page.locator("[aria-live]").first.inner_text()) == "Queries 0–4,095, keys 0–2,047"


def test_plain_arrows_move_the_cursor_and_the_region_only_at_its_edge(show):
    page = show(tile())
    page.locator(".over").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert seen(page)["q"] == [1000, 1100]
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")
    assert seen(page)["q"] == [975, 1075]
    answer_region = Region((975, 1075), (500, 600))
    page.wait_for_timeout(REST)
    answer(page, long_map(answer_region, (1, 1)))
    # The cursor stays on query 1,000.
    assert page.evaluate(f"{FIRST}.view.cursor") == {"row": 25, "column": 0}


def test_a_drag_moves_the_region_and_pins_nothing(show):
    page = show(tile())
    layout = page.evaluate(f"{FIRST}.view.layout")
    box = page.locator(".over").bounding_box()
    x, y = (
        box["x"] + layout["x"] + layout["width"] / 2,
        box["y"] + layout["y"] + layout["height"] / 2,
    )
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + layout["width"] / 10, y - layout["height"] / 5, steps=3)
    page.mouse.up()
    page.wait_for_timeout(REST)
    assert states(page) == [["region", {"q": [1020, 1120], "k": [490, 590]}]]


def test_the_small_map_takes_the_region_along(show):
    page = show(tile())
    page.locator(".minimap").click(position={"x": 71, "y": 1})
    assert near(asked(page)[0], {"q": [0, 100], "k": [1948, 2048]})


def test_the_answer_takes_the_place_of_the_preview_and_its_labels_follow(show):
    page = show(long_map())
    button(page, "Zoom in").click()
    page.wait_for_timeout(REST)
    older = long_map(Region((0, 4096), (0, 2048)), (8, 4))
    answer(page, {**older, "selected": {"layer": 1, "head": 1}})
    assert page.evaluate(f"{FIRST}.view.want") is not None  # that was not what was asked for
    answer(page, long_map(Region((1024, 3072), (512, 1536)), (4, 2)))
    assert page.evaluate(f"{FIRST}.view.want") is None
    page.locator(".over").hover(position=cell(page, 3, 5))
    told = plain(page.locator(".tip").inner_text())
    assert told.splitlines()[1] == "query 1,036–1,039, key 522–523"
    assert told.startswith("“q3” looks at “k5”")


def test_the_preview_lays_what_is_there_where_it_belongs(show):
    data = long_map()
    weights = np.zeros((512, 512), np.float32)
    weights[255:257, 255:257] = 1.0  # the middle
    page = show({**data, **encode_map(weights)})
    button(page, "Zoom in to single weights").click()
    layout = page.evaluate(f"{FIRST}.view.layout")
    middle = {"x": layout["x"] + layout["width"] / 2, "y": layout["y"] + layout["height"] / 2}
    beside = {"x": middle["x"] + layout["width"] / 8, "y": middle["y"]}
    assert sum(colour(page, middle)[:3]) < 200
    assert colour(page, beside)[:3] == [255, 255, 255]


def test_a_click_asks_for_the_query_of_a_cell(show):
    page = show(long_map(), tile())
    page.locator(".over").first.click(position=cell(page, 100, 3))
    assert states(page) == [["row", {"q": [800, 808], "k": [12, 16]}]]


def test_the_excerpt_tells_the_map_which_query_looks(show):
    keys = [Position(f"t{index}") for index in range(2048)]
    weights = np.zeros(2048, np.float32)
    weights[[3, 1055]] = 0.75, 0.25
    told = excerpt_data(
        weights, keys, (Passage(0, 9), Passage(1050, 1060)), query=1055, label="t1055", run="r"
    )
    page = show(tile(), told)
    assert page.evaluate(f"{FIRST}.pinned") == 1055
    gaps = [plain(text) for text in page.locator(".gap").all_inner_texts()]
    assert gaps == ["… 1,041 tokens, together 0 …", "… 988 tokens, together 0 …"]
    chips = page.locator(".chip")
    assert plain(chips.nth(3).get_attribute("title")) == "token 3: 0.750"
    assert page.locator(".chip.pinned").inner_text() == "t1055"
    chips.nth(10).click()
    assert states(page) == [["row", {"query": 1051}]]


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways(show, width):
    page = show(long_map(), tile(), width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_single_weights_open_around_the_pinned_query_even_at_the_end(show):
    last = {**long_map(), "query": OF[0] - 1}
    page = show(last)
    button(page, "Zoom in to single weights").click()
    assert seen(page)["q"] == [OF[0] - 512, OF[0]]


def test_arcs_of_a_region_ask_for_the_query_of_a_token_too(show):
    page = show({**tile(), "view": "arcs"})
    layout = page.evaluate(f"{FIRST}.view.layout")
    page.locator(".over").click(position={"x": 4, "y": layout["y"] + 4.5 * layout["row"]})
    assert states(page) == [["row", {"q": [1004, 1005], "k": [500, 600]}]]
