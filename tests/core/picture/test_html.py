"""The offline page: self-contained, and safe whatever the labels say."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from core.picture.canvas.encode import encode_each, encode_map
from core.picture.canvas.source import FILES, FOLDER, SHEETS, script, style
from core.picture.canvas.views import (
    Head,
    Photo,
    map_data,
    mosaic_data,
    patches_data,
    sentence_data,
)
from core.picture.files.html import offline_html

NASTY = ["</script><script>alert(1)</script>", "<!--", "&lt;", "שלום", "\u2028", "\ud83d"]


class Scripts(HTMLParser):
    """Reads a page as a browser does: a script ends at the first closing tag."""

    def __init__(self):
        super().__init__()
        self.texts = {}
        self.current = None

    def handle_starttag(self, tag, attrs):
        self.current = dict(attrs).get("id", "code") if tag == "script" else None
        if self.current:
            self.texts.setdefault(self.current, "")

    def handle_data(self, data):
        if self.current:
            self.texts[self.current] += data

    def handle_endtag(self, tag):
        self.current = None


@pytest.fixture
def weights():
    return np.full((len(NASTY), len(NASTY)), 1 / len(NASTY), np.float32)


def scripts_of(page: str) -> dict[str, str]:
    parser = Scripts()
    parser.feed(page)
    return parser.texts


def test_labels_cannot_end_the_script_and_come_back_unchanged(weights):
    data = map_data(encode_map(weights), NASTY, NASTY, run="r")
    scripts = scripts_of(offline_html("maps", data))
    assert set(scripts) == {"views", "style", "code"}
    assert json.loads(scripts["views"]) == [data]


def test_page_can_be_written_as_utf8_even_with_half_a_character(weights):
    data = map_data(encode_map(weights), NASTY, NASTY, run="r")
    assert offline_html("a half \N{GREEK SMALL LETTER OMEGA}", data).encode("utf-8")


def test_title_is_escaped(weights):
    page = offline_html("<b>&", sentence_data(NASTY, run="r"))
    assert "<b>&" not in page
    assert page.count("&lt;b&gt;&amp;") == 2


def test_page_refers_to_nothing_outside(weights):
    page = offline_html("maps", map_data(encode_map(weights), NASTY, NASTY, run="r"))
    assert not re.search(r"https?://|@import|url\(|\bsrc=|\bhref=", page)
    assert "default-src &#x27;none&#x27;" in page


def test_several_views_come_in_order(weights):
    views = [
        sentence_data(NASTY, run="r"),
        map_data(encode_map(weights), NASTY, NASTY, run="r", view="arcs", selected=Head(3, 7)),
        mosaic_data(encode_each(np.ones((2, 3, 5, 7), np.float32)), run="r"),
    ]
    read = json.loads(scripts_of(offline_html("all", views))["views"])
    assert [view["view"] for view in read] == ["sentence", "arcs", "mosaic"]
    assert read[1]["selected"] == {"layer": 3, "head": 7}


def test_every_file_of_the_canvas_is_in_the_bundle_once():
    assert sorted(FILES) == sorted(
        path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.js")
    )
    assert sorted(SHEETS) == sorted(
        path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.css")
    )
    assert "</" not in script()
    assert "</" not in style()


def test_no_name_is_defined_twice_in_the_shared_scope():
    names = re.findall(r"^(?:async )?(?:function|const|let) (\w+)", script(), re.MULTILINE)
    assert len(names) == len(set(names))


def test_every_word_that_is_asked_for_has_an_english_default():
    words = (FOLDER / "base/words.js").read_text(encoding="utf-8")
    known = set(re.findall(r"^  (\w+): \"", words, re.MULTILINE))
    asked = set(re.findall(r"(?:phrase|speak)\(frame, \"(\w+)\"", script()))
    assert asked
    assert asked <= known


def test_patches_must_fill_the_grid():
    photo = Photo("data:image/jpeg;base64,", 48, 32, (0, 0, 48, 32), grid=(4, 6))
    with pytest.raises(ValueError, match="23 weights came"):
        patches_data(np.ones((2, 3, 23), np.float32), photo, run="r", query=(1, 5))
