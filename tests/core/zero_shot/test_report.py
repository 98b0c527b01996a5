"""The report: what it says, that it loads nothing, and that names cannot become markup."""

import io
import re
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import font_manager
from PIL import Image

from core.picture.colours.palettes import table
from core.zero_shot import report
from core.zero_shot.report import MOST_PICTURES, clip_html, matrix_png
from core.zero_shot.scores import Scores
from core.zero_shot.similarity import Order
from core.zero_shot.table import Settings

SETTINGS = Settings("tiny-clip", "linear", "float32", ("a photo of a {}",), 11.0, None, False)
NASTY = "</table><script>alert(1)</script>"
PIXEL = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="


def scores(pictures: int, labels: int, *, with_probability: bool = True) -> Scores:
    cosine = np.linspace(-0.5, 0.5, pictures * labels, dtype=np.float32).reshape(pictures, labels)
    return Scores(
        labels=tuple(f"label {index} {NASTY}" for index in range(labels)),
        templates=("a {}", "b {}", "c {}"),
        cosine=cosine,
        probability=np.full_like(cosine, 1 / labels) if with_probability else None,
        by_template=np.stack([cosine - 0.25, cosine, cosine + 0.25]),
        scale=11.0,
        bias=None,
        sigmoid=False,
        note="" if with_probability else "No probability here.",
    )


def page(pictures: int, labels: int, **options: bool) -> str:
    names = [f"picture {index} {NASTY}" for index in range(pictures)]
    return clip_html(scores(pictures, labels, **options), names, [PIXEL] * pictures, SETTINGS)


def test_names_and_labels_stay_text():
    assert "<script" not in page(2, 3)
    assert "&lt;script&gt;" in page(2, 3)


def test_page_refers_to_nothing_outside_and_runs_no_script():
    text = page(2, 3)
    assert not re.search(r"https?://|@import|url\(|\bhref=", text)
    assert set(re.findall(r'src="(\w+):', text)) == {"data"}
    assert "default-src &#x27;none&#x27;" in text
    assert "script-src" not in text


def test_page_says_settings_cosine_spread_and_probability():
    text = page(2, 7)
    assert "mechanism: linear" in text
    assert "softmax(11 x cosine) over the labels" in text
    # The last cell is 0.5; three templates 0.25 apart have a standard deviation of 0.204.
    assert "0.500 ± 0.204" in text
    assert "14.3%" in text


def test_each_picture_has_its_five_first_labels_best_first():
    first = page(1, 7).split("Every cosine")[0]
    assert re.findall(r"<td>label (\d)", first) == ["6", "5", "4", "3", "2"]


def test_without_probability_there_is_a_note_and_no_percentage():
    text = page(2, 1, with_probability=False)
    assert "No probability here." in text
    assert "and its probability" not in text
    assert not re.search(r'class="number">\d+\.\d%', text)


def test_cells_are_coloured_over_the_range_of_all_values():
    cells = re.findall(r"background:rgb\(([^)]+)\);color:(#\w+)\">(-?\d\.\d\d)", page(2, 3))
    assert len(cells) == 6
    lowest, highest = (tuple(colour.tolist()) for colour in table("cividis")[[0, 255]])
    assert cells[0] == (", ".join(map(str, lowest)), "#fff", "-0.50")
    assert cells[-1] == (", ".join(map(str, highest)), "#111", "0.50")


def test_a_large_matrix_is_a_picture_and_the_page_stays_small():
    text = page(200, 1000)
    assert "data:image/png" in text
    assert len(text) < 3_000_000


def test_of_very_many_pictures_the_first_are_shown_and_that_is_said():
    text = page(MOST_PICTURES + 7, 2)
    assert "7 more pictures are not shown here." in text


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (200, 1000)])
def test_matrix_picture_carries_the_settings_and_is_no_larger_than_a_page(shape):
    data = matrix_png(scores(*shape), [f"p{index}" for index in range(shape[0])], SETTINGS)
    picture = Image.open(io.BytesIO(data))
    assert max(picture.size) <= 2300
    assert picture.text["Description"] == "\n".join(SETTINGS.lines())


def test_matrix_stands_in_the_order_and_the_number_that_are_shown():
    given = scores(2, 3)
    order = Order(np.array([1, 0]), np.array([2, 0, 1]))
    names = ["first", "second"]
    text = clip_html(given, names, [PIXEL] * 2, SETTINGS, order=order)
    whole = text.split("<h2>Every cosine</h2>")[1]
    assert re.findall(r"<th>label (\d)", whole) == ["2", "0", "1"]
    assert re.findall(r"<th>(first|second)<", whole) == ["second", "first"]
    numbers = re.findall(r'">(-?\d\.\d\d)</td>', whole)
    assert numbers == ["0.50", "0.10", "0.30", "-0.10", "-0.50", "-0.30"]
    text = clip_html(given, names, [PIXEL] * 2, SETTINGS, shown="probability")
    assert text.split("<h2>Every probability</h2>")[1].count(">33.3%</td>") == 6


def test_picture_in_order_is_the_picture_of_the_same_cells_given_in_that_order():
    given, order = scores(2, 2), Order(np.array([1, 0]), np.array([1, 0]))
    turned = replace(given, labels=given.labels[::-1], cosine=given.cosine[::-1, ::-1])
    ordered = matrix_png(given, ["first", "second"], SETTINGS, order=order)
    assert ordered == matrix_png(turned, ["second", "first"], SETTINGS)
    assert ordered != matrix_png(given, ["first", "second"], SETTINGS, shown="probability")


def test_probabilities_that_are_not_there_cannot_be_shown():
    with pytest.raises(ValueError, match="none came"):
        matrix_png(scores(2, 1, with_probability=False), ["a", "b"], SETTINGS, shown="probability")


def test_letters_that_the_own_font_lacks_come_from_another_that_is_installed(monkeypatch):
    own, other = (
        set(font_manager.get_font(font_manager.findfont(name)).get_charmap())
        for name in ("DejaVu Sans", "STIXGeneral")
    )
    name = chr(min(letter for letter in other - own if chr(letter).isalpha()))
    boxes = matrix_png(scores(1, 1), [name], SETTINGS)
    monkeypatch.setattr(report, "MORE_FONTS", ("No Such Font", "STIXGeneral"))
    assert report.fonts() == ["DejaVu Sans", "STIXGeneral"]
    assert matrix_png(scores(1, 1), [name], SETTINGS) != boxes
