"""Text page: opens on a finished result, runs a sentence, and answers bad input with a sentence."""

import pytest
from streamlit.testing.v1 import AppTest

from app.services import loaders
from app.services.requests import RunRequest
from app.words import plain, say
from tests.app.conftest import type_model


def captions(page: AppTest) -> str:
    return "\n".join(caption.value for caption in page.caption)


def warnings(page: AppTest) -> list[str]:
    return [warning.value for warning in page.warning]


def run_text(page: AppTest, text: str) -> AppTest:
    page.text_area(key="text_text").set_value(text)
    return page.button(key="text_run").click().run()


def test_opens_on_a_finished_result(open_page, real_cost):
    page = open_page("text")
    assert not page.exception
    assert page.title[0].value == say("text_title")
    assert "16 tokens · flash (cpu)" in captions(page)
    assert "verified" in captions(page)
    assert "Layer 3, head 1" in [heading.value for heading in page.subheader]


def test_runs_the_visitor_s_sentence_with_its_notes(open_page):
    page = run_text(open_page("text"), "The trophy doesn't fit in the suitcase.")
    assert not page.exception
    # [CLS] the trophy doesn ' t fit in the suitcase . [SEP]
    assert "12 tokens" in captions(page)


def test_several_lines_become_a_batch_with_a_picker(open_page):
    page = run_text(open_page("text"), "One two three.\n\nFour.")
    assert not page.exception
    # [CLS] one two three . [SEP] and [CLS] four . [SEP]; padding is not counted
    assert "10 tokens" in captions(page)
    picker = next(group for group in page.button_group if "item" in (group.key or ""))
    picker.set_value(1).run()
    assert not page.exception


def test_after_a_run_no_control_of_the_picture_runs_the_model(open_page, monkeypatch):
    page = open_page("text")

    def refuse(*_, **__):
        pytest.fail("the model ran again")

    monkeypatch.setattr("core.models.text.model.TextModel.forward", refuse)
    page.selectbox(key="text_layer").set_value(5).run()
    page.selectbox(key="text_head").set_value(11).run()
    page.toggle(key="text_hide").set_value(True).run()
    page.toggle(key="text_words").set_value(True).run()
    page.selectbox(key="shared_palette").set_value("magma").run()
    assert not page.exception
    assert "Layer 5, head 11" in [heading.value for heading in page.subheader]
    assert "special tokens hidden, rows renormalised" in captions(page)
    assert "by word" in captions(page)


def test_another_mechanism_shows_its_cost_against_the_model_s_own_and_back(open_page, real_cost):
    page = open_page("text")
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    assert not page.exception
    assert "linear (cpu)" in captions(page)
    assert "output cosine" in captions(page)
    assert page.button(key="text_to_lab").label == say("against_layers")
    page.selectbox(key="shared_mechanism").set_value("own").run()
    assert "flash (cpu)" in captions(page)
    assert "output cosine" not in captions(page)
    assert "text_to_lab" not in [button.key for button in page.button]


def test_the_table_lists_one_row_whose_weights_sum_to_one(open_page):
    page = open_page("text")
    form = next(group for group in page.button_group if group.key == "text_form")
    form.set_value("table").run()
    assert not page.exception
    table = page.dataframe[0].value
    assert len(table) == 16
    assert table["weight"].sum() == pytest.approx(1, abs=1e-5)
    assert "16 keys; the row sums to 1.0000." in captions(page)


@pytest.mark.parametrize("text", ["", "   ", "\n\n"])
def test_blank_text_is_explained_and_the_last_picture_stays(open_page, text):
    page = run_text(open_page("text"), text)
    assert not page.exception
    assert warnings(page) == ["Type at least one word\\."]
    assert say("stale") in captions(page)
    assert "Layer 3, head 1" in [heading.value for heading in page.subheader]


def test_an_unknown_model_is_explained_and_the_text_is_kept(open_page):
    page = open_page("text")
    page.text_area(key="text_text").set_value("Nothing of this may be lost.")
    type_model(page, "text_model", "no-such-model")
    page.button(key="text_run").click().run()
    assert not page.exception
    assert len(page.warning) == 1
    assert "no\\-such\\-model" in warnings(page)[0]
    assert page.text_area(key="text_text").value == "Nothing of this may be lost."


def test_a_long_text_is_cut_and_the_rest_is_shown(open_page):
    page = run_text(open_page("text"), "word " * 10_000)
    assert not page.exception
    assert "The first 512 of 10,002 tokens were read" in captions(page)
    assert any("word word" in part.value for part in page.html)


@pytest.mark.parametrize(
    "text", ["</script><b>bold</b>", "\x07 bell \x00", "שלום 🙂 Ω", "$x^2$ _a_ [b](c)"]
)
def test_odd_characters_are_only_characters(open_page, text):
    page = run_text(open_page("text"), text)
    assert not page.exception
    assert not page.warning
    assert not page.error


def test_an_unexpected_failure_is_a_sentence_not_a_traceback(open_page, monkeypatch):
    page = open_page("text")

    def burst(*_, **__):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(loaders, "reader_for", burst)
    page = run_text(page, "A sentence that meets a failure.")
    assert not page.exception
    assert [error.value for error in page.error] == [say("failed")]


def test_a_cancelled_run_says_so_and_run_starts_it_again(open_page):
    page = open_page("text")
    # What the Cancel button leaves behind; a browser journey presses the button itself.
    page.session_state["text_state"].cancelled = RunRequest(
        "minilm", ("A new sentence.",), None, "cpu", "float32"
    )
    page.session_state["text_text"] = "A new sentence."
    page.run()
    assert warnings(page) == [plain(say("cancelled"))]
    assert say("stale") in captions(page)
    assert page.text_area(key="text_text").value == "A new sentence."
    page.button(key="text_run").click().run()
    assert not page.warning
    # [CLS] a new sentence . [SEP]
    assert "6 tokens" in captions(page)


def test_what_was_given_is_there_again_after_a_visit_to_the_other_page(open_page):
    page = run_text(open_page("text"), "One two three.\nFour five.")
    page.selectbox(key="text_layer").set_value(4).run()
    page.toggle(key="text_words").set_value(True).run()
    page.switch_page("views/image.py").run()
    page.switch_page("views/text.py").run()
    assert page.text_area(key="text_text").value == "One two three.\nFour five."
    assert page.selectbox(key="text_layer").value == 4
    assert page.toggle(key="text_words").value is True


def test_the_sentence_stays_chosen_when_the_mechanism_changes(open_page):
    page = run_text(open_page("text"), "One two three.\nFour.")
    picker = next(group for group in page.button_group if "item" in (group.key or ""))
    picker.set_value(1).run()
    page.selectbox(key="shared_mechanism").set_value("linear").run()
    picker = next(group for group in page.button_group if "item" in (group.key or ""))
    assert picker.value == 1


def test_a_failure_while_drawing_is_a_sentence_too(open_page, monkeypatch):
    page = open_page("text")

    def burst(*_, **__):
        raise ValueError("secret detail")

    monkeypatch.setattr("core.maps.head_view.head_view", burst)
    page.selectbox(key="text_layer").set_value(1).run()
    assert not page.exception
    assert [error.value for error in page.error] == [say("failed")]


def test_a_device_that_is_not_there_is_not_offered(open_page):
    page = open_page("text")
    assert page.selectbox(key="shared_device").options[:2] == ["auto", "cpu"]
