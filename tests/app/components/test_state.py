"""What a page remembers: one object a page under one key, the same in every rerun."""

from streamlit.testing.v1 import AppTest

from app.components.state import Initial, PageState


def script() -> None:
    import streamlit as st

    from app.components.state import state_of

    state_of("text").long_text.not_found = "river"
    state_of("text").file.uploads += 1
    st.caption(f"{state_of('text').file.uploads} {state_of('image').file.uploads}")


def test_a_page_remembers_between_reruns_and_another_page_knows_nothing_of_it():
    page = AppTest.from_function(script).run()
    before = page.session_state["text_state"]
    assert page.caption[0].value == "1 0"
    page.run()
    assert page.session_state["text_state"] is before
    assert page.caption[0].value == "2 0"
    assert page.session_state["text_state"].long_text.not_found == "river"
    assert page.session_state["image_state"] == PageState()


def test_two_visits_share_nothing():
    first, second = AppTest.from_function(script).run(), AppTest.from_function(script).run()
    assert second.caption[0].value == first.caption[0].value == "1 0"


def test_a_view_keeps_the_value_that_it_came_with():
    initial = Initial()
    assert initial.of(("a", "map"), 3) == 3
    assert initial.of(("a", "map"), 5) == 3
    assert initial.of(("a", "arcs"), 5) == 5
    assert initial.of(("a", "map"), None) is None
