"""The sidebar: only what can run is offered, and the rest is listed with its reason."""

import pytest
import torch
from streamlit.testing.v1 import AppTest

from app.components import sidebar
from core.attention import MECHANISMS


def sidebar_alone():
    import streamlit as st

    from app.components import sidebar

    sidebar.show(mechanism=not st.toggle("lab", key="lab"))


@pytest.fixture
def no_linear_in_halves(monkeypatch):
    def unavailable(name, device, dtype):
        return "no kernel" if name == "linear" and dtype == torch.bfloat16 else None

    monkeypatch.setattr(sidebar, "unavailable", unavailable)


def opened():
    return AppTest.from_function(sidebar_alone, default_timeout=30).run()


def titles(page):
    return page.selectbox(key="shared_mechanism").options


@pytest.mark.skipif(torch.cuda.is_available(), reason="the cards' own mechanisms can run here")
def test_b3_what_cannot_run_is_listed_below_with_its_reason():
    page = opened()
    assert not page.exception
    assert {"Standard", "Flash", "Linear"} <= set(titles(page))
    for name in ("cudnn", "flash_attn"):
        title = MECHANISMS[name].title
        assert title not in titles(page)
        said = f"{title}: unavailable: it needs an NVIDIA GPU"
        assert said in [each.value.replace("\\", "") for each in page.caption]


def test_a_choice_that_can_no_longer_run_does_not_vanish_silently(no_linear_in_halves):
    page = opened()
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    assert not page.warning
    page.selectbox(key="shared_precision").set_value("bfloat16").run()
    assert not page.exception
    assert page.session_state["shared_mechanism"] == sidebar.OWN
    assert page.warning[0].value.startswith("Linear, your choice, cannot run with this device")
    page.selectbox(key="shared_mechanism").set_value("favor").run()
    assert not page.warning
    page.selectbox(key="shared_precision").set_value("float32").run()
    assert "Linear" in titles(page)
    assert page.session_state["shared_mechanism"] == "favor"


def test_one_line_tells_the_cost_of_the_mechanism_that_is_chosen():
    page = opened()
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    shown = [each.value for each in page.caption]
    assert [each.cost for each in MECHANISMS.values() if each.cost in shown] == [
        MECHANISMS["linear"].cost
    ]


def test_the_mechanism_survives_a_page_that_has_no_use_for_it():
    page = opened()
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    page.toggle(key="lab").set_value(True).run().run()
    assert {each.key for each in page.selectbox} == {
        "shared_device",
        "shared_precision",
        "shared_palette",
    }
    page.toggle(key="lab").set_value(False).run()
    assert page.selectbox(key="shared_mechanism").value == "linear"


def test_a_mechanism_that_compiles_says_so_where_it_is_chosen():
    assert [name for name in MECHANISMS if MECHANISMS[name].compiles] == ["flex"]
    assert "compiles for 3 to 15 seconds" in MECHANISMS["flex"].cost
