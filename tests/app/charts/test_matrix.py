"""Charts: cells keep their place, names stay text, and a large matrix stays small."""

import json
import random as letters

import numpy as np
import pytest

from app.charts import matrix
from app.charts.matrix import Cell
from app.charts.parts import BESIDE, LETTERS, LINE, MOST_PICTURES, percent, steps_for
from core.errors import InputError

VALUES = np.array([[0.273, 0.1, -0.05], [0.2, 0.31, 0.0]], np.float32)
ROWS, COLUMNS = ["cat.jpg", "dog.jpg"], ["a cat", "a <b>dog</b>", "a cup"]
URL = "data:image/webp;base64,AAAA"


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).random(shape).astype(np.float32)


def sent(figure) -> dict:
    """The figure as the browser gets it."""
    return json.loads(figure.to_json(validate=False))


def test_200_by_1000_with_pictures_takes_at_most_2_megabytes():
    rng = letters.Random(0)
    urls = ["data:image/webp;base64," + rng.randbytes(850).hex() for _ in range(200)]
    labels = [f"label {index} of a rather long name" for index in range(1000)]
    figure = matrix.similarity_matrix(
        random(200, 1000),
        [f"picture {index}.jpg" for index in range(200)],
        labels,
        row_pictures=urls,
        probability=random(200, 1000),
    )
    assert matrix.bytes_sent(figure) <= 2_000_000
    assert sent(figure)["data"][0]["z"]["dtype"] == "f4"


@pytest.mark.parametrize("letter", ["n", "<", "'", "語", "🦊"])
@pytest.mark.parametrize(
    "shape", [(200, 1000), (1000, 200), (1000, 1000), (3000, 3000), (10, 10_000), (447, 448)]
)
def test_no_matrix_takes_more_than_2_megabytes_however_long_its_names_are(shape, letter):
    rows, columns = ([letter * 50 + str(index) for index in range(side)] for side in shape)
    urls = ["data:image/webp;base64," + "A" * 1700] * shape[0]
    values = np.zeros(shape, np.float32)
    figure = matrix.similarity_matrix(values, rows, columns, row_pictures=urls)
    assert matrix.bytes_sent(figure) <= 2_000_000


def test_of_a_matrix_too_large_the_largest_of_each_block_is_drawn_and_that_is_said():
    values = np.zeros((1000, 1000), np.float32)
    values[999, 4] = 0.9  # blocks of 3: the last has one row only
    names = [str(index) for index in range(1000)]
    figure = matrix.similarity_matrix(values, names, names, chosen=Cell(999, 4))
    heat, ring = figure.data[0], figure.layout.shapes[0]
    assert heat.z.shape == (334, 334)
    assert np.argwhere(heat.z).tolist() == [[333, 1]]
    assert (heat.y[333], heat.x[1]) == ("999", "3")
    assert (ring.y0, ring.x0) == (332.5, 0.5)
    assert "largest of 3 x 3 cells %{z:.3f}" in heat.hovertemplate
    assert "3 down and 3 across" in matrix.pooled_note(values.shape)


@pytest.mark.parametrize("shape", [(200, 1000), (1000, 200), (447, 447)])
def test_what_can_be_sent_is_drawn_cell_by_cell(shape):
    values = random(*shape)
    names = [[str(index) for index in range(side)] for side in shape]
    np.testing.assert_array_equal(matrix.similarity_matrix(values, *names).data[0].z, values)
    assert "every n-th" in matrix.pooled_note(shape)
    assert matrix.pooled_note((5, 7)) == ""


def test_blocks_of_things_among_themselves_are_square():
    assert steps_for((3000, 3000)) == (7, 7)
    assert steps_for((10, 10_000)) == (1, 10)


def test_very_many_things_among_themselves_are_refused_in_a_sentence():
    matrix.require_square(matrix.MOST_SQUARE)
    with pytest.raises(InputError, match="At most 3,000 .* 10,000 came: take fewer"):
        matrix.require_square(10_000)


def test_cells_too_narrow_to_hit_cannot_be_clicked():
    assert matrix.clickable((4, matrix.HIT))
    assert not matrix.clickable((4, matrix.HIT + 1))
    assert not matrix.clickable((matrix.HIT + 1, 4))


def test_every_cell_has_a_mark_with_its_place_and_its_words():
    figure = matrix.similarity_matrix(VALUES, ROWS, COLUMNS, probability=VALUES + 0.1)
    marks = figure.data[1]
    assert len(marks.x) == 6
    place = marks.customdata.index([0, 0])
    assert (marks.x[place], marks.y[place]) == ("a cat", "cat.jpg")
    assert marks.text[place] == ("cat.jpg looks like “a cat”:<br>cosine 0.273, probability 37 %")
    place = marks.customdata.index([1, 2])
    assert (marks.x[place], marks.y[place]) == ("a cup", "dog.jpg")


def test_the_colours_may_follow_the_probability_while_hover_tells_both():
    options = {"probability": VALUES + 0.1, "palette": "viridis"}
    figure = matrix.similarity_matrix(VALUES, ROWS, COLUMNS, quantity="probability", **options)
    heat, marks = figure.data
    np.testing.assert_array_equal(heat.z, VALUES + 0.1)
    assert heat.colorbar.title.text == "probability"
    assert heat.colorbar.ticktext == ("5 %", "23 %", "41 %")
    assert heat.text[0] == ["37 %", "20 %", "5 %"]
    assert marks.text == matrix.similarity_matrix(VALUES, ROWS, COLUMNS, **options).data[1].text
    with pytest.raises(ValueError, match="none came"):
        matrix.similarity_matrix(VALUES, ROWS, COLUMNS, quantity="probability")


def test_names_stay_text():
    figure = matrix.similarity_matrix(VALUES, ROWS, COLUMNS)
    assert "a &lt;b&gt;dog&lt;/b&gt;" in figure.data[1].text[1]
    assert figure.data[0].x[1] == "a &lt;b&gt;dog&lt;/b&gt;"


def test_beyond_the_limit_cells_have_no_marks_and_the_map_itself_tells():
    side = matrix.CLICKABLE // 100
    names = [str(index) for index in range(101)]
    small = matrix.similarity_matrix(random(side, 100), names[:side], names[:100])
    assert len(small.data) == 2
    assert small.data[0].hoverinfo == "skip"
    large = matrix.similarity_matrix(random(side, 101), names[:side], names)
    assert len(large.data) == 1
    assert "%{z" in large.data[0].hovertemplate


def test_equal_and_long_names_keep_rows_of_their_own():
    rows = ["a" * 50 + "1", "a" * 50 + "2", "b", "b", "b (2)"]
    figure = matrix.similarity_matrix(random(5, 2), rows, ["x", "y"])
    shown = figure.data[0].y
    assert len(set(shown)) == 5
    assert max(map(len, shown)) <= LETTERS + 4
    assert figure.layout.yaxis.categoryarray == shown


def test_numbers_as_names_stay_names():
    figure = matrix.similarity_matrix(VALUES, ["2", "1"], ["30", "4", "5"])
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "category"
    assert list(figure.layout.xaxis.categoryarray) == ["30", "4", "5"]


def test_among_themselves_the_diagonal_does_not_set_the_scale():
    square = np.array([[1.0, 0.2, 0.3], [0.2, 1.0, 0.4], [0.3, 0.4, 1.0]], np.float32)
    heat = matrix.similarity_matrix(square, COLUMNS, COLUMNS, symmetric=True).data[0]
    assert (heat.zmin, heat.zmax) == pytest.approx((0.2, 0.4))
    heat = matrix.similarity_matrix(square, COLUMNS, COLUMNS).data[0]
    assert heat.zmax == pytest.approx(1.0)


def test_pictures_stand_beside_their_rows_and_above_their_columns():
    layout = matrix.similarity_matrix(
        VALUES, ROWS, COLUMNS, row_pictures=[URL] * 2, column_pictures=[URL] * 3
    ).layout
    beside = [image for image in layout.images if image.yref == "y"]
    above = [image for image in layout.images if image.xref == "x"]
    assert [round(image.y + 0.46) for image in beside] == [0, 1]
    assert [round(image.x + 0.46) for image in above] == [0, 1, 2]
    assert min(layout.margin.l, layout.margin.t) > BESIDE
    assert not layout.xaxis.showticklabels
    assert not layout.yaxis.showticklabels


def test_of_very_many_pictures_every_nth_is_drawn():
    figure = matrix.similarity_matrix(
        random(200, 3), [str(index) for index in range(200)], COLUMNS, row_pictures=[URL] * 200
    )
    assert 10 < len(figure.layout.images) <= MOST_PICTURES


def test_the_chosen_cell_is_framed():
    shape = matrix.similarity_matrix(VALUES, ROWS, COLUMNS, chosen=Cell(1, 2)).layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (1.5, 2.5, 0.5, 1.5)


def test_the_page_s_theme_shows_through():
    for figure in (
        matrix.similarity_matrix(VALUES, ROWS, COLUMNS),
        matrix.label_bars(COLUMNS, VALUES[0]),
    ):
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert figure.layout.font.color is None


@pytest.mark.parametrize("event", [None, {"selection": {"points": []}}])
def test_nothing_selected_is_no_cell(event):
    assert matrix.cell_of(event) is None


def test_the_selected_mark_gives_the_cell():
    event = {"selection": {"points": [{"x": "a", "y": "b", "customdata": [3, 5]}]}}
    assert matrix.cell_of(event) == Cell(3, 5)


SPREAD = np.array([0.01, 0.02, 0.5], np.float32)


def test_bars_show_cosine_and_probability_apart():
    figure = matrix.label_bars(COLUMNS, VALUES[0], VALUES[0] + 0.2, SPREAD)
    cosine, row, _, probability, *_ = figure.data
    np.testing.assert_array_equal(cosine.x, VALUES[0])
    np.testing.assert_array_equal(probability.x, VALUES[0] + 0.2)
    assert cosine.xaxis != probability.xaxis
    np.testing.assert_array_equal(cosine.error_x.array, SPREAD)
    assert probability.error_x.array is None
    assert row.hovertext[0] == (
        "“a cat”:<br>cosine 0.273, probability 47 %<br>"
        "the templates differ by 0.010<br>(standard deviation)"
    )


def test_numbers_stand_outside_the_panels_beside_their_bars():
    layout = matrix.label_bars(COLUMNS, VALUES[0], VALUES[0] + 0.2).layout
    assert layout.yaxis.ticktext == ("0.273", "0.100", "-0.050")
    assert layout.yaxis2.ticktext == ("47 %", "30 %", "15 %")
    assert (layout.yaxis.side, layout.yaxis2.side) == ("left", "right")


def test_panels_hold_bars_on_both_sides_of_zero_with_their_error_bars():
    figure = matrix.label_bars(COLUMNS, VALUES[0], None, SPREAD)
    low, high = figure.layout.xaxis.range
    assert low < -0.55
    assert high > 0.45
    _, row, zero = figure.data
    assert (row.base, row.x[0]) == pytest.approx((low, high - low))
    assert set(zero.x) == {0, None}


def test_names_stand_over_their_bars_as_text_that_a_narrow_chart_has_room_for():
    labels = ["a <b>dog</b>", "a" * 50, "語" * 50]
    figure = matrix.label_bars(labels, VALUES[0])
    names = [note for note in figure.layout.annotations if note.yref == "y"]
    assert names[0].text == "a &lt;b&gt;dog&lt;/b&gt;"
    assert [len(name.text) for name in names[1:]] == [LINE, LINE // 2]
    assert all(name.y < bar for name, bar in zip(names, figure.data[0].y, strict=True))


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (1, "100 %"), (0.99996, "&gt;99.9 %"), (0.997, "99.7 %"), (0.412, "41 %"),
        (0.0431, "4.3 %"), (0.004, "0.4 %"), (0.00004, "0.004 %"), (1e-6, "&lt;0.001 %"),
        (0, "&lt;0.001 %"),
    ],
)  # fmt: skip
def test_a_probability_keeps_the_digits_that_tell_something(share, text):
    assert percent(share) == text


def test_one_label_has_no_panel_for_a_probability():
    figure = matrix.label_bars(["a cat"], VALUES[0, :1])
    assert "xaxis2" not in figure.layout
    assert "probability" not in figure.data[1].hovertext[0]
    assert len(figure.layout.annotations) == 2
