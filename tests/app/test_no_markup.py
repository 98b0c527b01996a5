"""No text of a visitor's is rendered: no picture is fetched, no link made, no word set bold."""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict

import pytest
from markdown_it import MarkdownIt
from streamlit.proto.Markdown_pb2 import Markdown
from streamlit.testing.v1 import AppTest

from core.bench.sweep.plan import Plan
from core.models.vision.images import sample_picture
from tests.app.conftest import MAIN

HOSTILE = (
    '![y](http://x.test/y.png) **b** [l](http://x.test) <img src="http://x.test/z.png"> :red[r] '
    "$m$ `c` ~~s~~ :material/home:"
)
MARK = "x.test"
# Fields that Streamlit's page renders as Markdown; what a select box lists, it shows as it is.
RENDERED = {"body", "label", "help", "text", "content", "caption", "placeholder"}
PARSER = MarkdownIt("commonmark", {"html": True}).enable("strikethrough")
MADE = {"image", "link_open", "html_inline", "html_block", "code_inline", "s_open", "em_open"}


Message = Markdown.__base__  # protobuf's, whatever package brings it


def strings(message: Message, inside: str = "") -> Iterator[str]:
    """Every string of an element that is rendered."""
    for field, value in message.ListFields():
        one = isinstance(value, str | bytes | Message) or not hasattr(value, "__len__")
        for each in [value] if one else value:
            if isinstance(each, Message):
                yield from strings(each, field.name)
            elif isinstance(each, str) and field.name in RENDERED:
                yield each


def quoted(page: AppTest) -> list[str]:
    """The rendered strings that hold something of the visitor's."""
    nodes, found = [page._tree], []
    while nodes:
        node = nodes.pop()
        nodes += list(getattr(node, "children", {}).values())
        proto = getattr(node, "proto", None)
        if isinstance(proto, Message):
            found += [each for each in strings(proto) if MARK in each.replace("\\", "")]
    return found


def check(page: AppTest) -> int:
    """No string makes anything; how many there were."""
    assert not page.exception
    found = quoted(page)
    for text in found:
        tokens = [each for block in PARSER.parse(text) for each in (block, *(block.children or []))]
        made = {token.type for token in tokens} & MADE
        assert not made, (made, text)
        assert not re.search(r"(?<!\\)(\$|:[a-z]+[\[/])", text), text
    return len(found)


def picture(folder) -> bytes:
    sample_picture("coffee").pixels.resize((64, 64)).save(folder / "small.png")
    return (folder / "small.png").read_bytes()


def opened(**state: str) -> AppTest:
    """The first page, as it opens when the visitor has typed this before."""
    page = AppTest.from_file(str(MAIN), default_timeout=120)
    for key, value in state.items():
        page.session_state[key] = value
    return page.run()


def test_a_text_that_is_cut_and_noted(open_page, fetched):
    fetched("clip-mini")
    text = f"{HOSTILE} {'word ' * 600}\n{HOSTILE}"
    page = opened(text_text=text, text_model="clip-mini")
    assert check(page) >= 3  # the note on what was cut, and a button for each sentence


def test_names_of_models_files_and_mechanisms(open_page):
    name = HOSTILE.replace("http://", "")  # what stands before : is a scheme
    assert check(opened(text_model=name)) >= 1
    page = open_page("text")
    for data in (b"some words", b"\x00\x01"):
        page.file_uploader[0].set_value([(f"{HOSTILE}.txt", data, "text/plain")]).run()
        check(page)
    linked = AppTest.from_file(str(MAIN), default_timeout=120)
    linked.query_params["mechanism"] = HOSTILE
    linked.run()
    assert check(linked) >= 1


def test_names_of_pictures_good_and_bad(open_page, tmp_path):
    page = open_page("image")
    files = [
        (f"{HOSTILE}.png", picture(tmp_path), "image/png"),
        (f"{HOSTILE} 2.png", b"no", "image/png"),
    ]
    page.file_uploader(key="image_upload").set_value(files).run()
    assert check(page) >= 2


def test_labels_templates_and_label_files(open_page, tmp_path):
    page = open_page("clip")
    files = [(f"{HOSTILE}.png", picture(tmp_path), "image/png")]
    page.file_uploader(key="clip_upload").set_value(files).run()
    page.text_area(key="clip_labels").set_value(
        f"{HOSTILE}\n{HOSTILE} {'long ' * 90}\n{HOSTILE} 猫\n{HOSTILE} 狗"
    )
    page.selectbox(key="clip_templates").set_value("own")
    page.text_area(key="clip_own").set_value(f"{HOSTILE} {{}}")
    page.button(key="clip_run").click().run()
    assert check(page) >= 3
    for section in ("matrix", "why", "retrieval"):
        page.session_state["clip_section"] = section
        check(page.run())
    page.text_area(key="clip_own").set_value(f"{HOSTILE} without a gap")
    page.button(key="clip_run").click().run()
    check(page)
    data = ("x", b"\x00\x01", "text/csv")
    page.file_uploader(key="clip_label_file").set_value([(f"{HOSTILE}.csv", *data[1:])]).run()
    assert check(page) >= 1


def test_a_sentence_and_a_saved_run_in_the_lab(open_page, sweeps_here, tmp_path):
    page = open_page("lab")
    page.session_state["lab_state"].job.finished.wait(120)
    page.run()
    plan = asdict(Plan(mechanisms=(HOSTILE, "flash")))
    machine = {"message": "machine", "device": "cpu", "name": HOSTILE, "threads": 2, "flops": 1.0,
               "bytes": 1.0, "versions": {"torch": HOSTILE}}  # fmt: skip
    saved = {"format": 1, "finished": True, "plan": plan, "results": [machine]}
    file = (f"{HOSTILE}.json", json.dumps(saved).encode(), "application/json")
    page.file_uploader(key="lab_before").set_value([file]).run()
    assert check(page) >= 1
    page.file_uploader(key="lab_before").set_value([(file[0], b"{}", file[2])]).run()
    check(page)


@pytest.mark.parametrize(
    "text", ["![y](http://x.test/y.png)", "a `x.test`", ":red[x.test]", "$x.test$"]
)
def test_the_walk_notices_what_is_rendered(text):
    page = AppTest.from_string(f"import streamlit as st\nst.caption({text!r})").run()
    with pytest.raises(AssertionError):
        check(page)
