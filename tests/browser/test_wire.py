"""What travels: the script once a visit, and for a new head little more than its weights."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.app_page import PATIENCE, Visit

pytestmark = pytest.mark.browser
SCRIPT = 100_000  # bytes: no picture of a short text is as large


def received_for_heads(here: Visit, count: int) -> list[int]:
    """The bytes that each of some new heads brings."""
    heading = here.page.get_by_role("heading", name=re.compile(r"^Layer \d+, head \d+"))
    sizes = []
    for _ in range(count):
        before = heading.inner_text()
        here.quiet()
        here.received.clear()
        here.canvas("All heads").focus()
        here.page.keyboard.press("ArrowRight")
        here.page.keyboard.press("Enter")
        expect(heading).not_to_have_text(before, timeout=PATIENCE)
        here.quiet()
        sizes.append(sum(here.received))
    return sizes


def test_the_script_comes_once_and_a_new_head_of_16_tokens_in_8_kb(visit):
    here = visit()
    assert len([size for size in here.received if size > SCRIPT]) == 1
    assert max(received_for_heads(here, 2)) <= 8_000


def test_a_new_head_of_512_tokens_comes_in_60_kb(visit):
    here = visit()
    page = here.page
    words = "def head(view): return [row for row in view.weights if row.sum() > 0.5]  # a line\n"
    page.get_by_role("textbox", name="Your sentences").fill(words.replace("\n", " ") * 40)
    page.get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text("512 tokens ·")).to_be_visible(timeout=PATIENCE)
    here.settled()
    assert max(received_for_heads(here, 2)) <= 60_000
    # What came as levels in bytes is told as a number: the map opened what was packed.
    here.canvas("Attention map").focus()
    page.keyboard.press("ArrowDown")
    spoken = page.get_by_text(re.compile("looks at .*: ≈ [0-9]"))
    expect(spoken.first).to_be_attached()
