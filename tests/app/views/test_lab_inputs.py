"""Lab page on the visitor's own sentence or picture: what a model's layer was really given."""

import re

import pytest
from streamlit.testing.v1 import AppTest

from app.words import say

PATIENCE = 180.0
TEXT = "The keys to the cabinet are here."


def group(page: AppTest, key: str):
    return next(item for item in page.button_group if item.key == key)


def captions(page: AppTest) -> str:
    return "\n".join(caption.value for caption in page.caption).replace("\\", "")


@pytest.fixture
def lab(open_page, fetched, sweeps_here):
    """The page, its first run ended, with the two cheapest mechanisms chosen."""
    fetched("minilm", "focus-vit")
    page = open_page("lab")
    page.session_state["lab_state"].job.cancel()
    page.session_state["lab_state"].job.finished.wait(20)
    group(page, "lab_arms").set_value(["flash", "linear"])
    yield page.run()
    page.session_state["lab_state"].job.cancel()


def source(page: AppTest, name: str) -> AppTest:
    group(page, "lab_source").set_value(name)
    return page.run()


def finished(page: AppTest) -> AppTest:
    page.button(key="lab_run").click().run()
    assert not page.warning
    assert page.session_state["lab_state"].job.finished.wait(PATIENCE)
    return page.run()


def test_a_sentence_is_read_estimated_measured_and_shown_as_maps(lab):
    page = source(lab, "sentence")
    page.text_area(key="lab_text").set_value(TEXT)
    page.run()
    assert not page.exception
    assert say("lab_taken", length=10, heads=12, dim=32) in captions(page)
    assert re.search(r"About \d+ seconds", captions(page))
    assert page.selectbox(key="lab_text_layer_minilm").options == [str(n) for n in range(6)]
    page.selectbox(key="lab_text_layer_minilm").set_value(2)
    page = finished(page)
    assert not page.exception
    running = page.session_state["lab_state"].job
    assert (running.sweep.plan.origin.layer, running.sweep.plan.origin.label) == (2, TEXT)
    assert page.markdown[1].value.startswith("**On your sentence, 10 tokens, on this CPU")
    told = captions(page)
    assert f"minilm, layer 2, 10 positions: {TEXT}" in told
    assert "total variation 0." in told
    assert [each.value for each in page.subheader] == [
        say("lab_time"), say("lab_memory"), say("lab_maps")
    ]  # fmt: skip


def test_a_picture_is_looked_at(lab):
    page = finished(source(lab, "picture"))
    assert not page.exception
    plan = page.session_state["lab_state"].job.sweep.plan
    assert plan.origin.kind == "picture"
    assert (plan.heads, plan.dim, plan.lengths) == (6, 64, (926,))
    assert page.markdown[1].value.startswith("**On your picture, 926 positions")
    assert say("lab_maps_pooled", cell=4) in captions(page)


def test_a_blank_text_is_explained_and_nothing_is_run(lab):
    before = lab.session_state["lab_state"].job
    page = source(lab, "sentence")
    page.text_area(key="lab_text").set_value("   ")
    page.button(key="lab_run").click().run()
    assert not page.exception
    assert [each.value for each in page.warning] == ["Type at least one word\\."]
    assert page.session_state["lab_state"].job is before


def test_back_to_random_inputs_the_sizes_are_asked_again(lab):
    page = source(source(lab, "sentence"), "random")
    assert not page.exception
    assert page.number_input(key="lab_heads").value == 8
    assert page.session_state["lab_state"].job.sweep.plan.origin is None


def test_a_model_waits_for_ones_own_run_unless_run_is_pressed(lab):
    lab.number_input(key="lab_rounds").set_value(200)
    lab.button(key="lab_run").click().run()
    long = lab.session_state["lab_state"].job
    page = source(lab, "sentence")
    assert say("lab_after_run") in captions(page)
    assert not long.finished.is_set()
    page.number_input(key="lab_rounds").set_value(5)
    page = finished(page.run())
    assert long.sweep.cancelled
    assert page.session_state["lab_state"].job.sweep.plan.origin.label.startswith("The animal")
