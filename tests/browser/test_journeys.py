"""Journeys through the running app in a real browser, with the real offline models."""

import re

import pytest
from playwright.sync_api import expect
from skimage import data, io

from tests.browser.app_page import PATIENCE

OWN, LINEAR = "the model's own", "Linear"


def test_a_sentence_a_head_a_token_and_another_mechanism(visit):
    here = visit()
    page = here.page
    page.get_by_role("textbox", name="Your sentences").fill("The keys to the cabinet are here.")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("cabinet").last).to_be_visible(timeout=PATIENCE)
    here.settled()
    # A head in the mosaic: the keyboard chooses it, one to the right of the one before.
    here.canvas("All heads").focus()
    page.keyboard.press("ArrowRight")  # and nothing more: arrows choose once they rest
    expect(page.get_by_role("heading", name="Layer 3, head 2")).to_be_visible(timeout=PATIENCE)
    here.click_cell("All heads", 0.5, 0.95)
    expect(page.get_by_role("heading", name=re.compile("Layer 5, head "))).to_be_visible()
    # A token: the row under the pointer is pinned, and the sentence is shaded by it.
    here.click_cell("Attention map", 0.6, 0.5)
    expect(page.get_by_text("looks most at")).to_be_visible(timeout=PATIENCE)
    pinned = page.get_by_text("looks most at").inner_text().split("looks")[0]
    here.quiet()
    here.received.clear()
    here.click_cell("Attention map", 0.6, 0.75)
    expect(page.get_by_text(pinned + "looks most at")).to_have_count(0, timeout=PATIENCE)
    here.quiet()
    assert sum(here.received) < 10_000  # the map is not sent again for a pin
    pinned = page.get_by_text("looks most at").inner_text().split("looks")[0]
    here.choose_mechanism(LINEAR)
    expect(page.get_by_text("output cosine")).to_be_visible(timeout=PATIENCE)
    here.settled()
    assert page.get_by_text("looks most at").inner_text().startswith(pinned)
    here.choose_mechanism(OWN)
    expect(page.get_by_text("output cosine")).to_have_count(0, timeout=PATIENCE)
    expect(page.get_by_text("flash (cpu)")).to_be_visible()
    assert page.get_by_role("textbox", name="Your sentences").input_value().startswith("The keys")


def test_a_photo_a_patch_and_the_other_direction(visit, tmp_path):
    photo = tmp_path / "tall.jpg"
    io.imsave(photo, data.astronaut()[:, 100:300], check_contrast=False)
    here = visit("image")
    page = here.page
    page.get_by_role("button", name="Add pictures").click()
    page.locator('input[type="file"]').first.set_input_files(photo)
    # 512 x 200: the long side becomes 518 px, 37 patches; 202 px are 14 patches
    expect(page.get_by_text("37 x 14 patches + CLS")).to_be_visible(timeout=PATIENCE)
    here.settled()
    here.click_cell("Picture with", 0.5, 0.25)
    chosen = page.get_by_role("radio", name=re.compile(r"^patch \d+,\d+$"))
    expect(chosen).to_be_visible(timeout=PATIENCE)
    row, column = map(int, re.findall(r"\d+", chosen.inner_text()))
    assert 7 <= row <= 11  # a quarter down of 37 rows
    assert 6 <= column <= 7  # the middle of 14 columns
    page.get_by_role("radio", name="CLS").click()
    expect(page.get_by_text(re.compile("what CLS looks at|what .CLS. looks at"))).to_be_visible()
    here.click_cell("Picture with", 0.5, 0.25)
    expect(chosen).to_be_visible(timeout=PATIENCE)
    page.get_by_text("is attended to by").click()
    expect(page.get_by_text(re.compile("what looks at"))).to_be_visible(timeout=PATIENCE)


def test_hover_makes_no_round_trip_and_choosing_a_head_of_a_picture_sends_little(visit):
    here = visit("image")
    box = here.canvas("Picture with").bounding_box()
    before = len(here.sent)
    for step in range(12):
        here.page.mouse.move(box["x"] + 20 + 15 * step, box["y"] + 40 + 5 * step)
    here.page.wait_for_timeout(500)
    assert len(here.sent) == before
    here.quiet()
    here.received.clear()
    here.click_cell("This query in all heads", 0.5, 0.5)
    here.page.wait_for_timeout(1500)
    assert sum(here.received) < 20_000


def test_a_click_does_not_wait_until_the_cost_is_measured(visit):
    here = visit("image")
    page = here.page
    page.get_by_text("An astronaut").click()
    # The picture is there and its cost is not: five passes of it take seconds.
    expect(page.get_by_text("37 x 37 patches").or_(page.get_by_text("Measuring"))).to_be_visible(
        timeout=PATIENCE
    )
    expect(page.get_by_text("'astronaut' was resized")).to_be_visible(timeout=PATIENCE)
    here.click_cell("Picture with", 0.5, 0.5)
    expect(page.get_by_role("radio", name="patch 18,18")).to_be_visible(timeout=5_000)
    here.settled()


def test_a1_a_long_text_sends_thumbnails_and_one_map(visit):
    here = visit()
    page = here.page
    page.get_by_role("textbox", name="Your sentences").fill("a quiet river ran on and on " * 90)
    here.received.clear()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("512 tokens ·")).to_be_visible(timeout=PATIENCE)
    here.settled()
    assert sum(here.received) < 300_000
    here.quiet()
    here.received.clear()
    here.canvas("All heads").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Layer 3, head 0")).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(1000)
    assert sum(here.received) < 60_000


def test_the_offline_page_of_a_head_opens_without_a_network(visit, chromium, tmp_path):
    here = visit()
    with here.page.expect_download(timeout=PATIENCE) as download:
        here.page.get_by_role("button", name="HTML").click()
    file = tmp_path / "head.html"
    download.value.save_as(file)
    assert download.value.suggested_filename == "minilm-layer3-head1.html"
    page = chromium.new_page()
    page.context.set_offline(True)
    page.goto(file.as_uri())
    expect(page.locator('canvas[aria-label*="Attention map"]').first).to_be_visible()
    assert "minilm · layer 3, head 1" in page.title()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("path", ["", "image"])
def test_nothing_scrolls_sideways(visit, path, width, scheme):
    here = visit(path, width=width, scheme=scheme)
    assert not here.scrolls_sideways()


def test_shared_choices_stay_when_the_page_changes(visit):
    here = visit()
    here.choose_mechanism(LINEAR)
    expect(here.page.get_by_text("output cosine")).to_be_visible(timeout=PATIENCE)
    here.page.get_by_role("link", name="Image").click()
    expect(here.page.get_by_text("25 x 37 patches")).to_be_visible(timeout=PATIENCE)
    expect(here.page.get_by_text("linear (cpu)")).to_be_visible(timeout=PATIENCE)


@pytest.mark.slow
def test_a_long_text_of_a_deep_model_is_drawn_with_a_cancel(visit, fetched):
    fetched("smollm2")
    here = visit()
    page = here.page
    page.get_by_role("textbox", name="Your sentences").fill("a mill by the sea " * 160)
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name=re.compile("SmolLM2")).click()
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("801 tokens").or_(page.get_by_text("800 tokens"))).to_be_visible(
        timeout=PATIENCE
    )
    here.settled()
    assert "30" in here.canvas("All heads").get_attribute("aria-label")


def test_cancel_stops_a_long_run_and_keeps_the_text(visit, fetched):
    fetched("smollm2")
    here = visit()
    page = here.page
    text = "long ago and far away there was a mill " * 800
    page.get_by_role("textbox", name="Your sentences").fill(text)
    page.get_by_role("combobox", name="Model").click()
    page.get_by_role("option", name=re.compile("SmolLM2")).click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.get_by_role("button", name="Cancel").click(timeout=PATIENCE)
    expect(page.get_by_text("Cancelled. What you gave is kept")).to_be_visible(timeout=PATIENCE)
    assert page.get_by_role("textbox", name="Your sentences").input_value() == text
    # The queue is free again: another visitor gets a result.
    assert visit().headings() == ["All heads", "Layer 3, head 1"]
