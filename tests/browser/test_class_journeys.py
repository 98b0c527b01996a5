"""A class: pupils with phones, by touch, and a teacher at a beamer."""

import re

import pytest
from playwright.sync_api import Page, expect

from app.words import say
from tests.browser.app_page import PATIENCE

pytestmark = pytest.mark.slow


def inside(page: Page, box: dict, height: int) -> bool:
    """Does the whole of a box stand in the window, from its first pixel to its last?"""
    return box["y"] >= 0 and box["y"] + box["height"] <= height


def test_a_phone_reaches_every_page_and_sees_the_map_of_a_head_that_is_tapped(visit, chromium):
    address = visit().page.url
    context = chromium.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = context.new_page()
    page.goto(address)
    mosaic = page.locator('canvas[aria-label*="All heads"]')
    expect(mosaic).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("verified").first).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(1000)
    mosaic.scroll_into_view_if_needed()
    box = mosaic.bounding_box()
    page.touchscreen.tap(box["x"] + 0.55 * box["width"], box["y"] + 0.85 * box["height"])
    expect(page.get_by_role("heading", name=re.compile(r"^Layer 5, head"))).to_be_visible(
        timeout=PATIENCE
    )
    page.wait_for_timeout(1500)
    shown = page.locator('canvas[aria-label*="Attention map"]').first.bounding_box()
    assert inside(page, shown, 844)
    page.locator(".st-key-pages").get_by_text(say("nav_image"), exact=True).tap()
    expect(page.get_by_role("heading", name=say("image_title"))).to_be_visible(timeout=PATIENCE)
    context.close()


@pytest.mark.parametrize("path", ["", "image"])
def test_a_beamer_shows_map_layer_and_all_heads_on_one_screen(visit, path):
    here = visit(path)
    page = here.page
    page.set_viewport_size({"width": 1280, "height": 720})
    page.get_by_text(say("present"), exact=True).click()
    here.page.wait_for_timeout(2500)
    expect(page.get_by_test_id("stSidebar")).to_be_hidden()
    assert "present=1" in page.url
    if path:
        wanted = [here.canvas("Picture with"), here.canvas("This query in all heads"),
                  page.get_by_label("Play through the layers").first]  # fmt: skip
    else:
        wanted = [here.canvas("Attention map"), here.canvas("All heads"),
                  page.get_by_role("combobox", name=say("layer"))]  # fmt: skip
    for each in wanted:
        assert inside(page, each.bounding_box(), 720), each
    page.reload()  # the address keeps it
    expect(page.get_by_test_id("stSidebar")).to_be_hidden(timeout=PATIENCE)
    page.get_by_text(say("present"), exact=True).click()
    expect(page.get_by_test_id("stSidebar")).to_be_visible(timeout=PATIENCE)


def test_what_one_sees_is_explained_until_it_is_closed(visit):
    page = visit().page
    expect(page.get_by_text(say("about"))).to_be_visible(timeout=PATIENCE)
    page.get_by_role("button", name=say("about_close")).click()
    expect(page.get_by_text(say("about"))).to_have_count(0, timeout=PATIENCE)
    page.reload()
    expect(page.get_by_role("heading", name=say("text_title"))).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text(say("about"))).to_have_count(0)
