"""Next tokens as bars: of the last position at first, of the pinned token once there is one."""

import pytest
from streamlit.testing.v1 import AppTest

from app.components.state import Pin
from tests.app.views.test_text_page import run_text


def bars(page: AppTest):
    picker = next(box for box in page.selectbox if "_next_" in (box.key or ""))
    table = next(each.value for each in page.dataframe if "probability" in each.value)
    return picker, table


def test_bars_follow_the_pinned_token_and_the_choice(open_page, fetched):
    fetched("smollm2")
    page = open_page("text")
    page.selectbox(key="text_model").set_value("smollm2")
    page = run_text(page, "The capital of France is")
    assert not page.exception
    picker, table = bars(page)
    assert picker.value == 4  # the last
    assert table["token"][0] == "␣Paris"  # as the model's own test finds it
    assert table["probability"].is_monotonic_decreasing
    assert 0 < table["probability"].sum() <= 1
    page.session_state["text_state"].heads.pin = Pin("of")
    page.run()
    picker, after_of = bars(page)
    assert picker.value == 2
    assert list(after_of["token"]) != list(table["token"])
    picker.set_value(4).run()
    assert bars(page)[1]["probability"].tolist() == pytest.approx(table["probability"].tolist())


def test_an_encoder_has_no_bars(open_page):
    page = open_page("text")
    assert not [box for box in page.selectbox if "_next_" in (box.key or "")]
