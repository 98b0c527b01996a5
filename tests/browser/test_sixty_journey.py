"""An owner's journey: sixty photographs are labelled, filtered, paged, and taken away."""

import io
import re

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from pillow_heif import register_heif_opener
from playwright.sync_api import expect

from app.words import say
from tests.browser.app_page import PATIENCE
from tests.browser.test_clip_journeys import open_section

KINDS = {0: ("heic", "HEIF"), 1: ("avif", "AVIF")}


def photographs(folder):
    """Sixty different small pictures: one HEIC, one AVIF, the others PNG; and one that is none."""
    register_heif_opener()
    rng = np.random.default_rng(0)
    for index in range(60):
        ending, kind = KINDS.get(index, ("png", "PNG"))
        noise = rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)
        picture = Image.fromarray(noise).resize((64, 64), Image.Resampling.BICUBIC)
        picture.save(folder / f"{index:02}.{ending}", kind)
    (folder / "broken.heic").write_bytes(b"no picture")
    return sorted(folder.iterdir())


@pytest.mark.slow
def test_sixty_photographs_are_labelled_filtered_paged_and_taken_away(visit, tmp_path):
    here = visit("clip")
    page = here.page
    page.get_by_role("button", name="Add pictures").click()
    page.locator('input[type="file"]').first.set_input_files(photographs(tmp_path))
    expect(page.get_by_text(re.compile("broken.heic.* is none of them"))).to_be_visible(
        timeout=PATIENCE
    )
    page.keyboard.press("Escape")
    page.get_by_role("textbox", name="Labels, one a line").fill("a cat\n-a blank page\nred")
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("Labels that bring their own article: 2")).to_be_visible(
        timeout=PATIENCE
    )
    here.settled()
    # The picture that could not be read is named after Run too.
    expect(page.get_by_text(re.compile("broken.heic.* is none of them"))).to_be_visible()
    least = page.get_by_label(say("clip_least"), exact=True)
    least.fill("1")
    least.press("Enter")
    expect(page.get_by_text("none of these 60")).to_be_visible(timeout=PATIENCE)
    here.settled()
    page.get_by_text(say("clip_small_cards"), exact=True).click()
    small = page.locator(".st-key-clip_thumbnails img")
    expect(small).to_have_count(24, timeout=PATIENCE)
    here.settled()
    # A page of them fits the screen.
    first, last = small.first.bounding_box(), small.last.bounding_box()
    assert last["y"] + last["height"] - first["y"] < 900
    assert not here.scrolls_sideways()
    here.quiet()
    with page.expect_download(timeout=PATIENCE) as download:
        page.get_by_role("button", name="Plain CSV").click()
    table = pd.read_csv(io.BytesIO(download.value.path().read_bytes()))
    assert table["picture"].nunique() == 60
    assert {"00.heic", "01.avif"} <= set(table["picture"])
    assert set(table["decision"]) == {"none of these"}
    open_section(here, "Retrieval")
    open_section(here, "Zero-shot")
    expect(page.get_by_text("none of these 60")).to_be_visible(timeout=PATIENCE)
