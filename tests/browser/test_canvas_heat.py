"""Heat maps on pictures and on tokens in a real browser: what they tell and how they look."""

import re

import numpy as np
import pytest

from core.picture.canvas.views import CanvasStyle, heat_data, tokens_data
from core.picture.colours.palettes import ON_DARK, diverging_table
from tests.browser.canvas_page import FIRST, colour, plain

TOKENS = ["␣a", "␣</script>", "␣שלום"]


def heat_of(photo, **options):
    values = np.zeros((4, 6), np.float32)
    values[1, 5], values[2, 0] = 0.21, -0.105
    return heat_data(
        values, photo, run="h", title="“a” less “b”", unit="cosine",
        **{"diverging": True, **options},
    )  # fmt: skip


def patch(page, row, column):
    """The middle of a patch: the grid of 4 x 6 fills 60 x 60 pixels that start at 20."""
    scale = page.evaluate(f"{FIRST}.view.layout.width") / 100
    return {"x": (20 + 10 * (column + 0.5)) * scale, "y": 15 * (row + 0.5) * scale}


def test_hover_tells_the_patch_and_its_number(show, photo):
    page = show(heat_of(photo))
    over = page.locator(".photo .over")
    over.hover(position=patch(page, 1, 5))
    assert plain(page.locator(".tip").inner_text()) == "patch 1,5: cosine +0.210"
    over.hover(position=patch(page, 2, 0))
    assert plain(page.locator(".tip").inner_text()) == "patch 2,0: cosine −0.105"
    over.hover(position=patch(page, 2, -1))  # beside the grid: not seen by the model
    assert page.locator(".tip").is_hidden()
    assert page.get_by_text("not seen by the model").count() == 1


def test_arrows_move_over_the_patches_and_the_number_is_spoken(show, photo):
    page = show(heat_of(photo))
    page.locator(".photo .over").focus()
    for key in ["ArrowDown", *["ArrowDown"] * 2]:
        page.keyboard.press(key)
    assert plain(page.locator("[aria-live]").inner_text()) == "patch 2,0: cosine −0.105"
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    assert page.locator(".tip").is_hidden()
    assert page.evaluate("window.states") == []


def test_zero_shows_the_picture_and_both_signs_their_own_colour(show, photo):
    page = show(heat_of(photo))
    page.get_by_label("Opacity").fill("100")
    # The picture is (90, 120, 150); black at 0.55 leaves 45 % of it.
    at_zero = colour(page, patch(page, 0, 0))[:3]
    np.testing.assert_allclose(at_zero, [40, 54, 68], atol=4)
    high, low = (colour(page, patch(page, *place))[:3] for place in ((1, 5), (2, 0)))
    np.testing.assert_allclose(high, diverging_table(ON_DARK)[255], atol=3)
    assert low[2] > low[0] + 30


def test_opacity_0_leaves_the_picture_as_it_is(show, photo):
    page = show(heat_of(photo))
    page.get_by_label("Opacity").fill("0")
    np.testing.assert_allclose(colour(page, patch(page, 1, 5))[:3], [90, 120, 150], atol=4)


def test_smooth_blends_neighbours_and_patches_do_not(show, photo):
    page = show(heat_of(photo))
    right, below = patch(page, 1, 4), patch(page, 1, 5)
    near = {"x": right["x"] + 0.4 * (below["x"] - right["x"]), "y": right["y"]}
    before = colour(page, near)
    page.get_by_text("smooth").click()
    assert sum(colour(page, near)[:3]) > sum(before[:3]) + 20


@pytest.mark.parametrize(
    ("options", "numbers", "words"),
    [
        ({}, ["−0.210", "0", "+0.210"], "cosine · no colour at 0"),
        (
            {"middle": "mean"},
            ["−0.201", "0.004", "0.210"],
            "cosine · no colour at the mean, 0.004",
        ),
    ],
)
def test_legend_says_what_has_no_colour(show, photo, options, numbers, words):
    page = show(heat_of(photo, **options))
    assert page.locator(".numbers span").all_inner_texts() == numbers
    assert plain(page.locator(".legend").inner_text()).split("\n")[-2] == words


def test_relevance_has_a_scale_from_zero(show, photo):
    values = np.linspace(0, 0.5, 24, dtype=np.float32).reshape(4, 6)
    page = show(heat_data(values, photo, run="h", title="t", unit="relevance"))
    assert page.locator(".numbers span").all_inner_texts() == ["0", "0.500"]
    page.locator(".photo .over").hover(position=patch(page, 3, 5))
    assert plain(page.locator(".tip").inner_text()) == "patch 3,5: relevance 0.500"


def test_tokens_are_shaded_by_their_values_and_tell_them(show):
    values = np.array([0.0, 0.8, 0.1], np.float32)
    page = show(tokens_data(TOKENS, values, run="t", unit="relevance"))
    chips = page.locator(".chip")
    assert page.locator("button.chip").count() == 0
    colours = chips.evaluate_all("(nodes) => nodes.map((node) => node.style.background)")
    assert colours[0] == ""
    assert len(set(colours)) == 3
    chips.nth(1).hover()
    assert plain(page.locator(".tip").inner_text()) == "“␣</script>”: relevance 0.800"
    chips.nth(2).focus()
    assert plain(page.locator(".tip").inner_text()) == "“␣שלום”: relevance 0.100"
    assert plain(chips.nth(2).get_attribute("aria-label")) == "“␣שלום”: relevance 0.100"


def test_signed_tokens_follow_the_theme(show):
    values = np.array([0.0, 0.8, -0.8], np.float32)
    page = show(tokens_data(TOKENS, values, run="t", unit="cosine", diverging=True))

    def brightness() -> list[int]:
        texts = page.locator(".chip").evaluate_all(
            "(nodes) => nodes.slice(1).map((node) => getComputedStyle(node).backgroundColor)"
        )
        return [sum(int(part) for part in re.findall(r"\d+", text)[:3]) for text in texts]

    assert max(brightness()) < 250
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(f"() => {FIRST}.theme.dark")
    page.wait_for_timeout(100)
    assert min(brightness()) > 350


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_scrolls_sideways_and_every_stop_has_a_name(show, photo, width):
    tokens = tokens_data(TOKENS, np.ones(3, np.float32), run="t", unit="relevance")
    page = show(heat_of(photo, style=CanvasStyle(stale=True)), tokens, width=width)
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.locator(".over").get_attribute("aria-label")
