"""Text page with long inputs: a file in place of the sentences, and a map that is pooled."""

import numpy as np
import pytest

from app.components.long_text import files
from app.words import say
from core.maps.regions import Region
from core.models.files.text_files import MOST_BYTES
from core.models.text.model import TextModel
from tests.app.views.test_text_page import captions, run_text, warnings
from tests.core.maps.test_regions import module
from tests.core.words import byte_tokenizer

CODE = "def answer():\n    return 42\n\n\n" * 3_500  # 105,000 characters


def upload(page, name, data):
    page.file_uploader[0].upload(name, data)
    return page.run()


def group(page, key):
    return next(item for item in page.button_group if item.key == key)


@pytest.fixture
def long_page(open_page, monkeypatch):
    """The page on 1,031 tokens, read by a tiny decoder in minilm's place."""
    tiny = TextModel(module("sdpa"), byte_tokenizer(), "minilm")
    monkeypatch.setattr("core.models.load", lambda *_, **__: tiny)
    page = open_page("text")
    return upload(page, "notes.txt", ("ab cd" * 206 + "!").encode())


def test_a_file_of_100_kb_is_one_text_cut_to_what_the_model_reads(open_page):
    page = upload(open_page("text"), "answer.py", CODE.encode())
    assert not page.exception
    assert not page.warning
    assert f"Read in place of your sentences: **answer\\.py**, {len(CODE):,} characters." in (
        captions(page)
    )
    assert "The first 512 of" in captions(page)
    assert "512 tokens" in captions(page)
    cut = next(part.value for part in page.html if "opacity" in part.value)
    assert len(cut) < 1_000  # its beginning is shown; the rest is counted, and not sent
    assert page.text_area(key="text_text").value.startswith("The animal")


def test_the_typed_sentences_come_back(open_page):
    page = upload(open_page("text"), "notes.md", b"One line.\nAnother line.")
    # One text of two lines: no picker of sentences. [CLS] one line . another line . [SEP]
    assert "8 tokens" in captions(page)
    page.button(key="text_detach").click().run()
    assert "16 tokens" in captions(page)
    assert "Read in place" not in captions(page)


def test_a_sample_or_other_sentences_take_the_place_of_the_file_and_a_plain_run_does_not(open_page):
    page = upload(open_page("text"), "notes.txt", b"One line.")
    page.button(key="text_run").click().run()
    assert "notes\\.txt" in captions(page)
    page = run_text(page, "Four five.")
    assert "notes" not in captions(page)
    page = upload(page, "notes.txt", b"One line.")
    group(page, "text_sample").set_value("capital").run()
    assert "notes" not in captions(page)
    assert page.text_area(key="text_text").value == "The capital of France is"


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"\x89PNG\r\n\0", "is no text"), (b"", "is empty"), (b"ab\0", "is a binary file"),
     (b"a" * (MOST_BYTES + 1), "at most 2 MB")],
)  # fmt: skip
def test_a_file_that_cannot_be_read_is_a_sentence_and_the_page_stays(open_page, data, said):
    page = upload(open_page("text"), "notes.txt", data)
    assert not page.exception
    assert len(page.warning) == 1
    assert said in warnings(page)[0]
    assert "16 tokens" in captions(page)
    assert page.text_area(key="text_text").value.startswith("The animal")
    page = upload(page, "good.txt", b"One line.")
    assert not page.warning
    assert "5 tokens" in captions(page)  # [CLS] one line . [SEP]


def test_our_own_source_is_about_as_long_as_the_label_says(open_page):
    texts = [(files.CORE / name).read_text(encoding="utf-8") for name in files.OWN_SOURCE]
    # SmolLM2 makes a token of 3 to 4 characters of our code.
    assert 24_000 < len("\n".join(texts)) < 40_000


def test_a_long_map_says_how_it_is_pooled_and_which_region_is_shown(long_page):
    page = long_page
    assert not page.exception
    assert "largest weight of each 3 x 3 positions" in captions(page)
    group(page, "text_pooling").set_value("mean").run()
    assert "mean weight of each 3 x 3 positions" in captions(page)
    page.session_state["text_state"].long_text.region = Region((100, 612), (0, 512))
    page.run()
    assert "positions 100 to 611 x 0 to 511, exact" in captions(page)
    page.selectbox(key="text_layer").set_value(0).run()
    assert "positions 100 to 611 x 0 to 511, exact" in captions(page)  # another head keeps it
    page = upload(page, "other.txt", ("ef gh" * 206 + "!").encode())
    assert "each 3 x 3 positions" in captions(page)  # another text does not
    assert page.number_input(key="text_token").value == 1030


def test_the_table_of_a_long_text_is_one_exact_row(long_page):
    page = long_page
    group(page, "text_form").set_value("table").run()
    page.number_input(key="text_token").set_value(517).run()
    assert not page.exception
    assert "1,031 keys; the row sums to 1.0000." in captions(page)
    listed = page.dataframe[0].value[say("table_weight")].to_numpy()
    assert len(listed) == 100
    assert (np.diff(listed) <= 0).all()


def test_words_are_found_in_a_long_text_and_what_is_missing_is_said(long_page):
    page = long_page
    page.number_input(key="text_token").set_value(0).run()
    page.text_input(key="text_find").set_value("cda").run()
    assert page.number_input(key="text_token").value == 3
    page.button(key="text_next").click().run()
    assert page.number_input(key="text_token").value == 8
    page.text_input(key="text_find").set_value("river").run()
    assert say("long_not_found") in captions(page)
    assert page.number_input(key="text_token").value == 8
