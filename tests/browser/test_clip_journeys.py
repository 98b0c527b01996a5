"""Journeys through the CLIP page in a real browser, with the small offline CLIP."""

import io
import re

import pandas as pd
import pytest
from playwright.sync_api import Page, expect
from skimage import data
from skimage.io import imsave

from app.words import say
from tests.browser.app_page import PATIENCE, Visit


def open_section(here: Visit, name: str) -> None:
    here.page.get_by_role("radiogroup", name="Show").get_by_text(name, exact=True).click()
    here.settled()


def click_cell(page: Page, row: int, column: int, shape: tuple[int, int]) -> None:
    plot = page.locator(".js-plotly-plot .nsewdrag")
    plot.wait_for(state="attached", timeout=PATIENCE)
    page.wait_for_timeout(800)
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    x = box["x"] + box["width"] * (column + 0.5) / shape[1]
    y = box["y"] + box["height"] * (row + 0.5) / shape[0]
    page.mouse.move(x - 1, y)
    page.mouse.move(x, y)
    page.mouse.click(x, y)


def test_labels_a_cell_its_reason_and_another_mechanism(visit):
    here = visit("clip")
    page = here.page
    page.get_by_role("textbox", name="Labels, one a line").fill("a cat\na rocket\na piano")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("first before second").first).to_be_visible(timeout=PATIENCE)
    here.settled()
    open_section(here, "Matrix")
    expect(page.get_by_text(say("clip_click"))).to_be_visible(timeout=PATIENCE)
    click_cell(page, 3, 1, (4, 3))  # the rocket, and its own label
    expect(page.get_by_text("Cosine of each patch with “a rocket”")).to_be_visible(timeout=PATIENCE)
    expect(here.canvas("coloured by ⁨cosine⁩")).to_be_visible()
    here.settled()
    page.get_by_text("relevance", exact=True).first.click()
    expect(page.get_by_text("Relevance of each patch for")).to_be_visible(timeout=PATIENCE)
    page.get_by_text("part in the score", exact=True).click()
    expect(page.get_by_text("the score of “a rocket”").first).to_be_visible(timeout=PATIENCE)
    here.choose_mechanism("Linear")
    expect(page.get_by_text("in both towers, the first label")).to_be_visible(timeout=PATIENCE)
    here.settled()


def test_own_pictures_are_ranked_and_all_scores_are_taken_away(visit, tmp_path, chromium):
    for name in ("coffee", "rocket"):
        imsave(tmp_path / f"my {name}.png", getattr(data, name)(), check_contrast=False)
    (tmp_path / "broken.png").write_bytes(b"no picture")
    here = visit("clip")
    page = here.page
    page.get_by_role("button", name="Add pictures").click()
    page.locator('input[type="file"]').first.set_input_files(sorted(tmp_path.glob("*.png")))
    expect(page.get_by_text(re.compile("broken.png.* is none of them"))).to_be_visible(
        timeout=PATIENCE
    )
    here.settled()
    page.keyboard.press("Escape")
    open_section(here, "Retrieval")
    page.get_by_role("textbox", name="Words").fill("a cup of coffee")
    page.get_by_role("textbox", name="Words").press("Enter")
    expect(page.get_by_text(re.compile(r"^1 · my coffee"))).to_be_visible(timeout=PATIENCE)
    here.settled()  # a run that has not ended replaces the buttons below
    here.quiet()
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="CSV", exact=True).last.click()
    text = download.value.path().read_text(encoding="utf-8-sig")
    table = pd.read_csv(io.StringIO(text), comment="#")
    assert set(table["picture"]) == {"my coffee.png", "my rocket.png"}
    assert len(table) == 2 * table["label"].nunique()
    assert "# model: clip-mini" in text
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="HTML").last.click()
    download.value.save_as(tmp_path / "scores.html")
    offline = chromium.new_page()
    offline.context.set_offline(True)
    offline.goto((tmp_path / "scores.html").as_uri())
    expect(offline.get_by_text("my coffee").first).to_be_visible()
    offline.close()


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(1280, "dark"), (390, "light"), pytest.param(390, "dark", marks=pytest.mark.slow)],
)
def test_no_section_scrolls_sideways(visit, width, scheme):
    here = visit("clip", width=width, scheme=scheme)
    for section in ("Zero-shot", "Matrix", "Why", "Retrieval"):
        open_section(here, section)
        here.page.wait_for_timeout(800)
        assert not here.scrolls_sideways()


def test_the_link_opens_the_same_labels(visit):
    here = visit("clip?labels=one%20thing%0Aanother&templates=none")
    page = here.page
    expect(page.get_by_role("textbox", name="Labels, one a line")).to_have_value(
        "one thing\nanother"
    )
    assert "labels=" in page.url
