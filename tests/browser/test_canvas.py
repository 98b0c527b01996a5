"""The canvas on text in a real browser: what it tells, what it sends, how it looks."""

import numpy as np
import pytest

from core.picture.canvas.encode import encode, encode_map, encode_mask
from core.picture.canvas.source import script
from core.picture.canvas.views import CanvasStyle, Head, map_data, sentence_data
from tests.browser.canvas_page import FIRST, TOKENS, cell, colour, plain, states, tile

SIZE = len(TOKENS)


@pytest.mark.parametrize("shape", [(11, 13), (151, 139)])
def test_the_browser_reads_the_numbers_that_python_wrote(chromium, shape):
    matrix = np.random.default_rng(0).random(shape).astype(np.float32)
    page = chromium.new_page()
    page.add_script_tag(content=script())
    read = page.evaluate("async (p) => Array.from((await decodeValues(p)).values)", encode(matrix))
    page.close()
    step = 1 / 65535 if matrix.size <= 20_000 else 2 / 255
    np.testing.assert_allclose(np.reshape(read, shape), matrix, atol=step)


def test_the_browser_reads_the_mask_that_python_wrote(chromium):
    masked = np.random.default_rng(0).random((5, 7)) < 0.5
    page = chromium.new_page()
    page.add_script_tag(content=script())
    read = page.evaluate("async (p) => Array.from(await decodeMask(p))", encode_mask(masked))
    page.close()
    assert read == masked.ravel().astype(int).tolist()


def test_hover_names_row_column_and_number(show, weights):
    page = show(map_data(encode_map(weights), TOKENS, TOKENS, run="r"))
    page.locator(".over").hover(position=cell(page, 5, 1))
    assert page.locator(".tip").inner_text() == "“it” looks at “␣animal”: 0.120"


def test_labels_stay_text_and_right_to_left_ones_are_isolated(show, weights):
    page = show(map_data(encode_map(weights), TOKENS, TOKENS, run="r"))
    page.locator(".over").hover(position=cell(page, 2, 4))
    assert page.locator(".tip bdi").all_inner_texts() == ["שלום", "</script>", "0.150"]


def test_hover_says_about_when_the_number_is_rounded(show):
    matrix = np.zeros((151, 151), np.float32)
    matrix[0, 0], matrix[1, 0] = 1.0, 0.41
    labels = [f"t{index}" for index in range(151)]
    page = show(map_data(encode_map(matrix), labels, labels, run="r"))
    page.locator(".over").hover(position=cell(page, 1, 0))
    assert page.locator(".tip").inner_text() == "“t1” looks at “t0”: ≈ 0.41"


def test_masked_and_no_allowed_key_are_told_apart_t3(show):
    allowed = np.tril(np.ones((SIZE, SIZE), bool))
    allowed[:, 0] = False
    data = map_data(encode_map(allowed / np.float32(9), allowed), TOKENS, TOKENS, run="r")
    page = show(data)
    assert page.locator(".sign").all_inner_texts() == ["masked", "∅\nno allowed key"]
    page.locator(".over").hover(position=cell(page, 1, 5))
    assert page.locator(".tip").inner_text() == "“␣animal” may not look at “it”"
    page.locator(".over").hover(position=cell(page, 0, 0))
    assert page.locator(".tip").inner_text() == "“the” has no allowed key"


def test_click_pins_a_row_and_escape_lets_go(show, weights):
    page = show(map_data(encode_map(weights), TOKENS, TOKENS, run="r"))
    page.locator(".over").click(position=cell(page, 3, 3))
    page.keyboard.press("Escape")
    assert states(page) == [["row", {"query": 3}], ["row", {"query": None}]]


def test_arrows_move_enter_pins_and_the_cell_is_spoken(show, weights):
    page = show(map_data(encode_map(weights), TOKENS, TOKENS, run="r"))
    # The first stop is where the page says what it comes from.
    for key in ["Tab", "Tab", "ArrowDown", "ArrowDown", "ArrowRight"]:
        page.keyboard.press(key)
    spoken = page.locator("[aria-live]").inner_text()
    assert plain(spoken) == "“␣animal” looks at “␣animal”: 0.040"
    page.keyboard.press("Enter")
    assert states(page) == [["row", {"query": 1}]]


def test_the_sentence_follows_the_map_and_the_map_the_sentence(show, weights):
    one_map = map_data(encode_map(weights), TOKENS, TOKENS, run="r")
    page = show(one_map, sentence_data(TOKENS, run="r"), sentence_data(TOKENS, run="other"))
    page.locator(".over").click(position=cell(page, 5, 0))
    mine, other = page.locator(".headlight[data-view=sentence]").all()
    assert mine.locator(".chip.pinned").inner_text() == "it"
    assert "0.420" in mine.locator(".caption").inner_text()
    assert other.locator(".chip.pinned").count() == 0
    mine.locator(".chip").nth(2).click()
    assert page.evaluate(f"{FIRST}.pinned") == 2
    assert states(page) == [["row", {"query": 5}], ["row", {"query": 2}]]


def test_a_new_head_keeps_the_pinned_row_and_shades_by_the_new_weights(show, weights):
    one_map = map_data(encode_map(weights), TOKENS, TOKENS, run="r", query=5)
    page = show(one_map, sentence_data(TOKENS, run="r"))
    assert "0.420" in page.locator(".caption").nth(1).inner_text()
    new = map_data(encode_map(weights / 2), TOKENS, TOKENS, run="r", query=5)
    page.evaluate(
        f"""(data) => {{
            const frame = {FIRST};
            frame.data = data;
            frame.view.update();
        }}""",
        new,
    )
    page.get_by_text("0.210").wait_for()


def test_arcs_pin_the_same_row_as_the_map(show, weights):
    views = [
        map_data(encode_map(weights), TOKENS, TOKENS, run="r", view=v) for v in ("arcs", "map")
    ]
    page = show(*views)
    layout = page.evaluate(f"{FIRST}.view.layout")
    page.locator(".over").first.click(position={"x": 4, "y": layout["y"] + 4.5 * layout["row"]})
    pins = "[...document.querySelectorAll('section')].map((s) => s.shadowRoot.headlight.pinned)"
    assert page.evaluate(pins) == [4, 4]


def test_long_arcs_draw_the_strongest_lines_and_say_so(show):
    size = 131
    matrix = np.random.default_rng(0).random((size, size)).astype(np.float32)
    labels = [f"t{index}" for index in range(size)]
    page = show(map_data(encode_map(matrix), labels, labels, run="r", view="arcs"))
    assert "The \u2068400\u2069 strongest lines are drawn." in page.locator(".caption").inner_text()


def test_mosaic_tells_and_sends_the_head(show, mosaic):
    page = show(mosaic, width=390)
    page.locator(".over").hover(position=tile(page, 2, 4))
    head, largest, note = plain(page.locator(".tip").inner_text()).split("\n")
    assert (head, note) == ("layer 2, head 4", "note")
    assert largest.startswith("largest weight 0.9")  # of 49 numbers below 1
    page.locator(".over").click(position=tile(page, 1, 3))
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    assert states(page) == [["head", {"layer": 1, "head": 3}], ["head", {"layer": 1, "head": 2}]]


def test_the_map_tells_the_mosaic_which_head_python_chose(show, mosaic, weights):
    chosen = map_data(encode_map(weights), TOKENS, TOKENS, run="r", selected=Head(2, 4))
    for views in ([mosaic, chosen], [chosen, mosaic]):
        page = show(*views)
        page.wait_for_function(
            """() => [...document.querySelectorAll("section")].some(
                (s) => s.shadowRoot.headlight.view.marks?.chosen?.head === 4)"""
        )
        assert states(page) == []


@pytest.mark.parametrize("palette", ["cividis", "magma"])
def test_zero_is_the_background_and_high_is_far_from_it_in_both_themes(show, palette):
    data = map_data(
        encode_map(np.eye(SIZE, dtype=np.float32)),
        TOKENS,
        TOKENS,
        run="r",
        style=CanvasStyle(palette),
    )
    page = show(data)
    zero, high = cell(page, 1, 4), cell(page, 3, 3)
    assert colour(page, zero)[:3] == [255, 255, 255]
    assert sum(colour(page, high)[:3]) < 200
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {FIRST}.theme.dark")
    page.wait_for_timeout(100)
    assert colour(page, zero)[:3] == [0x11, 0x15, 0x1C]
    assert sum(colour(page, high)[:3]) > 450


def test_single_bright_cell_survives_shrinking(show):
    matrix = np.full((512, 512), 1e-4, np.float32)
    matrix[301, 203] = 1.0
    labels = [str(index) for index in range(512)]
    page = show(map_data(encode_map(matrix), labels, labels, run="r"), width=390)
    at = cell(page, 301, 203)
    near = [
        colour(page, {"x": at["x"] + dx, "y": at["y"] + dy})
        for dx in (-1, 0, 1)
        for dy in (-1, 0, 1)
    ]
    assert min(sum(point[:3]) for point in near) < 200


def test_words_may_come_in_another_language(show, weights):
    style = CanvasStyle(words={"cell": "„{query}“ sieht „{key}“: {value}"})
    page = show(map_data(encode_map(weights), TOKENS, TOKENS, run="r", style=style))
    page.locator(".over").hover(position=cell(page, 0, 0))
    assert page.locator(".tip").inner_text() == "„the“ sieht „the“: 0.010"


def test_a_stale_picture_greys_and_says_why(show, weights):
    data = map_data(encode_map(weights), TOKENS, TOKENS, run="r", style=CanvasStyle(stale=True))
    page = show(data)
    assert page.locator(".stale-note").is_visible()
    content = page.locator(".content")
    assert content.evaluate("(node) => getComputedStyle(node).filter") == "grayscale(1)"
