"""Journeys through the lab in a real browser: a sweep grows, ends when told, and leaves nothing."""

import re
import time
from collections.abc import Callable

import psutil
import pytest
from playwright.sync_api import Page, expect

from app.words import say
from tests.browser.app_page import PATIENCE, Visit

CURVES = '(document.querySelector(".js-plotly-plot")?.data ?? [])'  # none while it is redrawn
POINTS = f"{CURVES}.reduce((sum, line) => sum + line.x.length, 0)"


def measuring() -> list[psutil.Process]:
    """Processes that measure, of the app that these tests have started."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            if "core.bench.sweep.child" in process.cmdline():
                found.append(process)
        except psutil.Error:  # it has just ended
            continue
    return found


def gone(within: float = 10.0) -> bool:
    end = time.monotonic() + within
    while measuring() and time.monotonic() < end:
        time.sleep(0.1)
    return not measuring()


def points(page: Page) -> int:
    """How many lengths the curves of the first chart have so far, all together."""
    return page.evaluate(f"() => {POINTS}")


def run(page: Page) -> None:
    page.get_by_role("button", name="Run", exact=True).click()


def open_sizes(page: Page) -> None:
    page.get_by_text(say("lab_sizes"), exact=True).click()


def type_into(page: Page, label: str, text: str) -> None:
    box = page.get_by_label(label, exact=True)
    box.fill(text)
    box.press("Enter")


def opened(visit: Callable[..., Visit], **how: int | str) -> Visit:
    """The page when its own first sweep has ended."""
    here = visit(**how)
    here.page.goto(f"{here.page.url.rstrip('/')}/lab")
    expect(here.page.get_by_text(say("lab_downloads"))).to_be_visible(timeout=PATIENCE)
    return here


@pytest.mark.slow
def test_a_sweep_grows_is_cancelled_and_runs_again_on_a_sentence(visit):
    lab = opened(visit)
    page = lab.page
    assert gone()
    open_sizes(page)
    type_into(page, say("lab_rounds"), "30")
    type_into(page, say("lab_lengths"), "150, 250, 2000")
    expect(page.get_by_text(say("lab_stale"))).to_be_visible(timeout=PATIENCE)
    run(page)
    expect(page.get_by_role("button", name=say("cancel"))).to_be_visible(timeout=PATIENCE)
    page.wait_for_function(  # not the curves of the run before
        f"() => {CURVES}.some((line) => line.x[0] == 150)", timeout=PATIENCE
    )
    before = points(page)
    page.wait_for_function(f"(before) => {POINTS} > before", arg=before, timeout=PATIENCE)
    assert len(measuring()) == 1
    page.get_by_role("button", name=say("cancel")).click()
    expect(page.get_by_text(say("lab_cancelled"))).to_be_visible(timeout=PATIENCE)
    assert gone()
    type_into(page, say("lab_rounds"), "5")
    page.get_by_text(say("lab_source_sentence"), exact=True).click()
    text = page.get_by_role("textbox", name=say("lab_text"))
    text.fill("The keys to the cabinet are here.")
    text.press("Control+Enter")
    expect(page.get_by_text("10 positions, 12 heads")).to_be_visible(timeout=PATIENCE)
    run(page)
    expect(page.get_by_text(re.compile("On your sentence, 10 tokens"))).to_be_visible(
        timeout=PATIENCE
    )
    expect(page.get_by_text(say("lab_maps"))).to_be_visible(timeout=PATIENCE)
    maps = page.locator('canvas[aria-label*="Attention map"]')
    expect(maps).to_have_count(3, timeout=PATIENCE)  # softmax, linear, favor
    expect(page.get_by_text(re.compile(r"total variation 0\.[1-9]"))).to_have_count(2)
    assert gone()


@pytest.mark.slow
def test_a_reload_in_the_middle_ends_the_process(visit):
    page = opened(visit).page
    open_sizes(page)
    type_into(page, say("lab_rounds"), "100")
    expect(page.get_by_text(say("lab_stale"))).to_be_visible(timeout=PATIENCE)
    run(page)
    expect(page.get_by_role("button", name=say("cancel"))).to_be_visible(timeout=PATIENCE)
    (old,) = measuring()
    page.goto("about:blank")
    end = time.monotonic() + 15
    while old.is_running() and time.monotonic() < end:
        time.sleep(0.1)
    assert not old.is_running() or old.status() == psutil.STATUS_ZOMBIE


def test_nothing_scrolls_sideways_while_it_measures(visit):
    here = visit(width=390)
    here.page.goto(f"{here.page.url.rstrip('/')}/lab")
    expect(here.page.get_by_role("button", name=say("cancel"))).to_be_visible(timeout=PATIENCE)
    assert not here.scrolls_sideways()
    here.page.get_by_role("button", name=say("cancel")).click()
    expect(here.page.get_by_text(say("lab_cancelled"))).to_be_visible(timeout=PATIENCE)
    assert not here.scrolls_sideways()


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light"), (390, "dark")])
def test_nothing_scrolls_sideways(visit, width, scheme):
    here = opened(visit, width=width, scheme=scheme)
    expect(here.page.locator('canvas[aria-label*="Attention map"]')).to_have_count(3)
    here.page.wait_for_timeout(800)
    assert not here.scrolls_sideways()
