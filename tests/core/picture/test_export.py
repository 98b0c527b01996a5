"""Downloads: numbers come back as they went; pictures show labels as they are, zero as white."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from core.maps.labelled import LabelledMap, Provenance
from core.picture.colours.palettes import PALETTES, table
from core.picture.files.export import paper_colours, to_csv, to_npz, to_png

AWKWARD = ('a,b "c"', "line\nend", "=1+1", "#", "$x^2$", "שלום", "🙂")


def labelled(rows=("it", "was", "tired"), columns=AWKWARD, **about):
    weights = np.random.default_rng(0).random((len(rows), len(columns))).astype(np.float32)
    weights /= weights.sum(axis=1, keepdims=True)
    known = {"model": "tiny", "mechanism": "own", "kernel": "flash (cpu)", "layer": 2, "head": 5}
    about = Provenance(**{**known, "input": "it was", "versions": {"torch": "2.14.1"}} | about)
    return LabelledMap(weights, rows, columns, about)


def parsed(data):
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def pixels(data):
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).astype(int)


def test_npz_gives_back_numbers_labels_and_provenance():
    given = labelled()
    with np.load(io.BytesIO(to_npz(given)), allow_pickle=False) as file:
        np.testing.assert_array_equal(file["weights"], given.weights)
        assert file["weights"].dtype == np.float32
        assert tuple(file["rows"]) == given.rows
        assert tuple(file["columns"]) == given.columns
        about = json.loads(str(file["about"]))
    assert about == {
        "model": "tiny", "mechanism": "own", "kernel": "flash (cpu)", "layer": 2, "head": 5,
        "input": "it was", "note": "", "device": "", "precision": "",
        "versions": {"torch": "2.14.1"},
    }  # fmt: skip


def test_csv_gives_back_numbers_and_labels_as_they_are():
    given = labelled()
    rows = [row for row in parsed(to_csv(given)) if not row[0].startswith("# ")]
    assert rows[0] == ["looks \\ looked at", *AWKWARD]
    assert [row[0] for row in rows[1:]] == list(given.rows)
    numbers = np.array([[float(cell) for cell in row[1:]] for row in rows[1:]])
    np.testing.assert_allclose(numbers, given.weights, rtol=1e-5)


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ('print("a","b', 'print("a", "b'),
        ('He said,"hello', 'He said, "hello'),
        ("two\nlines,  and = more", "two lines, and = more"),
        ('say "q"', 'say "q"'),
        ("plain", "plain"),
    ],
)
def test_csv_has_one_line_of_provenance_each_whatever_the_input_holds(sentence, line):
    data = to_csv(labelled(input=sentence))
    about = data.decode("utf-8-sig").splitlines()[:7]
    assert about[0] == "# model: tiny"
    assert about[5] == f"# input: {line}"
    assert about[6] == "# versions: torch 2.14.1"
    rows = [row for row in parsed(data) if not row[0].startswith("# ")]
    assert [len(row) for row in rows] == [8] * 4


def test_csv_is_read_by_pandas_with_its_lines_of_provenance_as_comments():
    names = ("it", "was", "a,b", 'c"d', "=1+1", "$x^2$", "🙂")
    given = labelled(columns=names, input='say "a", "b"')
    table = pd.read_csv(io.BytesIO(to_csv(given)), comment="#", index_col=0, skip_blank_lines=True)
    assert tuple(table.columns) == names
    np.testing.assert_allclose(table.to_numpy(), given.weights, rtol=1e-5)


def test_csv_of_a_file_whose_name_is_no_unicode_is_written_all_the_same():
    assert ["# input: caf?.png"] in parsed(to_csv(labelled(input="caf\udce9.png")))


def test_png_opens_with_the_size_of_the_figure():
    image = Image.open(io.BytesIO(to_png(labelled())))
    assert image.format == "PNG"
    assert image.size == (1200, 1110)


@pytest.mark.parametrize("label", ["$\\frac{$", "$\\nothing$", "$", "a_b^c", "\\"])
@pytest.mark.parametrize("place", ["columns", "rows", "title"])
def test_png_draws_signs_of_mathematics_as_they_are(label, place):
    # The first two are no mathematics that matplotlib could draw: read as such they would raise.
    given = {"title": {"model": label}}.get(place, {place: (label, "b")})
    assert to_png(labelled(**given)).startswith(b"\x89PNG")


@pytest.mark.parametrize(
    "labels",
    [AWKWARD, ("हिन्दी", "漢字", "عربي"), ("y" * 500, "b"), ("a … b",) * 97],
    ids=["awkward", "scripts without a font", "a word without an end", "more than can be read"],
)
def test_png_of_any_labels_is_drawn_without_a_warning(labels):
    assert pixels(to_png(labelled(rows=labels, columns=labels))).shape == (1110, 1200, 3)


def test_png_keeps_a_long_title_inside_the_picture():
    long = pixels(to_png(labelled(note="special tokens hidden, rows renormalised; " * 5)))
    assert (long[:200] < 255).any()
    assert (long[:200, :9] == 255).all()
    assert (long[:200, -9:] == 255).all()


@pytest.mark.parametrize("palette", PALETTES)
def test_png_colours_run_from_the_page_to_the_dark_end_as_on_the_canvas(palette):
    colours = np.rint(paper_colours(palette)(np.arange(256))[:, :3] * 255).astype(int)
    assert colours[0].tolist() == [255, 255, 255]
    # colours.js: at entry 36 half white and half the reversed table, from 72 on the table alone.
    half = np.floor((255 + table(palette)[219].astype(int)) / 2 + 0.5)
    np.testing.assert_array_equal(colours[36], half)
    np.testing.assert_array_equal(colours[72:], table(palette)[::-1][72:])
    assert (np.diff(colours[:73].sum(axis=1)) < 0).all()


def test_png_shows_zero_as_the_page_and_the_largest_weight_as_the_end_of_the_scale():
    about = labelled().about
    corner = LabelledMap(np.eye(2, dtype=np.float32)[::-1].copy(), ("a", "b"), ("c", "d"), about)
    drawn = pixels(to_png(corner))
    dark = (np.abs(drawn - table("cividis")[0]).sum(axis=-1) <= 3).mean()
    # Two of four cells of a map that fills a bit more than a third of the page.
    assert 0.15 < dark < 0.35
    assert not (np.abs(drawn - table("cividis")[255]).sum(axis=-1) <= 3).any()


def test_png_of_a_map_without_any_weight_is_blank_not_an_error():
    about = labelled().about
    nothing = LabelledMap(np.zeros((2, 3), dtype=np.float32), ("a", "b"), ("c", "d", "e"), about)
    assert to_png(nothing).startswith(b"\x89PNG")
