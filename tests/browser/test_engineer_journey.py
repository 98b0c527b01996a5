"""An engineer's journey: a decoding step with a known model's sizes, and a saved run beside it."""

import io
import json

import pandas as pd
import pytest
from playwright.sync_api import expect

from app.words import say
from tests.browser.app_page import PATIENCE
from tests.browser.test_lab_journeys import open_sizes, opened, run


@pytest.mark.slow
def test_decoding_is_measured_saved_and_laid_beside_another_run(visit, tmp_path):
    page = opened(visit).page
    open_sizes(page)
    page.get_by_role("combobox", name=say("lab_preset")).click()
    page.get_by_role("option", name="Mistral 7B").click()
    expect(page.get_by_text("4,096 positions are usual")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_label(say("lab_kv_heads"), exact=True)).to_have_value("8")
    page.get_by_text(say("lab_phase_decode"), exact=True).click()
    page.get_by_label(say("lab_rounds"), exact=True).fill("5")
    page.get_by_label(say("lab_rounds"), exact=True).press("Enter")
    expect(page.get_by_text(say("lab_stale"))).to_be_visible(timeout=PATIENCE)
    run(page)
    # Linear attention would carry its sums from step to step.
    expect(page.get_by_text("a decoding step is measured of exact").first).to_be_visible(
        timeout=PATIENCE
    )
    with page.expect_download(timeout=PATIENCE) as saved:
        page.get_by_role("button", name="JSON", exact=True).click()
    kept = json.loads(saved.value.path().read_text())
    assert (kept["plan"]["decode"], kept["plan"]["kv_heads"], kept["plan"]["dim"]) == (True, 8, 128)
    # As if another machine, twice as fast, had been here before.
    for message in kept["results"]:
        for name in ("samples", "again"):
            if name in message:
                message[name] = [seconds / 2 for seconds in message[name]]
    before = tmp_path / "before.json"
    before.write_text(json.dumps(kept))
    page.get_by_text(say("lab_before"), exact=True).click()
    page.locator('input[type="file"]').first.set_input_files(before)
    expect(page.get_by_text("before.json:")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("Flash, saved").first).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text(say("lab_before_help_table"))).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(1500)  # a run that has not ended replaces the buttons below
    with page.expect_download(timeout=PATIENCE) as table:
        page.get_by_role("button", name="CSV", exact=True).last.click()
    frame = pd.read_csv(io.StringIO(table.value.path().read_text()))
    assert set(frame["queries"]) == {1}
    assert set(frame["mechanism"]) == {"flash", "standard"}
    assert (frame["tokens_per_second"] > 0).all()
