"""Charts: cells keep their place, names stay text, and a large matrix stays small."""

import json
import random as letters

import numpy as np
import pytest

from app import charts
from app.chart_parts import BESIDE, LETTERS, MOST_PICTURES
from app.charts import Cell

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
    figure = charts.similarity_matrix(
        random(200, 1000),
        [f"picture {index}.jpg" for index in range(200)],
        labels,
        row_pictures=urls,
        probability=random(200, 1000),
    )
    assert charts.bytes_sent(figure) <= 2_000_000
    assert sent(figure)["data"][0]["z"]["dtype"] == "f4"


def test_every_cell_has_a_mark_with_its_place_and_its_words():
    figure = charts.similarity_matrix(VALUES, ROWS, COLUMNS, probability=VALUES + 0.1)
    marks = figure.data[1]
    assert len(marks.x) == 6
    place = marks.customdata.index([0, 0])
    assert (marks.x[place], marks.y[place]) == ("a cat", "cat.jpg")
    assert marks.text[place] == ("cat.jpg looks like “a cat”:<br>cosine 0.273, probability 0.373")
    place = marks.customdata.index([1, 2])
    assert (marks.x[place], marks.y[place]) == ("a cup", "dog.jpg")


def test_the_colours_may_follow_the_probability_while_hover_tells_both():
    options = {"probability": VALUES + 0.1, "palette": "viridis"}
    figure = charts.similarity_matrix(VALUES, ROWS, COLUMNS, shown="probability", **options)
    heat, marks = figure.data
    np.testing.assert_array_equal(heat.z, VALUES + 0.1)
    assert heat.colorbar.title.text == "probability"
    assert marks.text == charts.similarity_matrix(VALUES, ROWS, COLUMNS, **options).data[1].text
    with pytest.raises(ValueError, match="none came"):
        charts.similarity_matrix(VALUES, ROWS, COLUMNS, shown="probability")


def test_names_stay_text():
    figure = charts.similarity_matrix(VALUES, ROWS, COLUMNS)
    assert "a &lt;b&gt;dog&lt;/b&gt;" in figure.data[1].text[1]
    assert figure.data[0].x[1] == "a &lt;b&gt;dog&lt;/b&gt;"


def test_beyond_the_limit_cells_have_no_marks_and_the_map_itself_tells():
    side = charts.CLICKABLE // 100
    names = [str(index) for index in range(101)]
    small = charts.similarity_matrix(random(side, 100), names[:side], names[:100])
    assert len(small.data) == 2
    assert small.data[0].hoverinfo == "skip"
    large = charts.similarity_matrix(random(side, 101), names[:side], names)
    assert len(large.data) == 1
    assert "%{z" in large.data[0].hovertemplate


def test_equal_and_long_names_keep_rows_of_their_own():
    rows = ["a" * 50 + "1", "a" * 50 + "2", "b", "b", "b (2)"]
    figure = charts.similarity_matrix(random(5, 2), rows, ["x", "y"])
    shown = figure.data[0].y
    assert len(set(shown)) == 5
    assert max(map(len, shown)) <= LETTERS + 4
    assert figure.layout.yaxis.categoryarray == shown


def test_numbers_as_names_stay_names():
    figure = charts.similarity_matrix(VALUES, ["2", "1"], ["30", "4", "5"])
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "category"
    assert list(figure.layout.xaxis.categoryarray) == ["30", "4", "5"]


def test_among_themselves_the_diagonal_does_not_set_the_scale():
    matrix = np.array([[1.0, 0.2, 0.3], [0.2, 1.0, 0.4], [0.3, 0.4, 1.0]], np.float32)
    heat = charts.similarity_matrix(matrix, COLUMNS, COLUMNS, symmetric=True).data[0]
    assert (heat.zmin, heat.zmax) == pytest.approx((0.2, 0.4))
    heat = charts.similarity_matrix(matrix, COLUMNS, COLUMNS).data[0]
    assert heat.zmax == pytest.approx(1.0)


def test_pictures_stand_beside_their_rows_and_above_their_columns():
    layout = charts.similarity_matrix(
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
    figure = charts.similarity_matrix(
        random(200, 3), [str(index) for index in range(200)], COLUMNS, row_pictures=[URL] * 200
    )
    assert 10 < len(figure.layout.images) <= MOST_PICTURES


def test_the_chosen_cell_is_framed():
    shape = charts.similarity_matrix(VALUES, ROWS, COLUMNS, chosen=Cell(1, 2)).layout.shapes[0]
    assert (shape.x0, shape.x1, shape.y0, shape.y1) == (1.5, 2.5, 0.5, 1.5)


def test_the_page_s_theme_shows_through():
    for figure in (
        charts.similarity_matrix(VALUES, ROWS, COLUMNS),
        charts.label_bars(COLUMNS, VALUES[0]),
    ):
        assert figure.layout.paper_bgcolor == figure.layout.plot_bgcolor == "rgba(0,0,0,0)"
        assert figure.layout.font.color is None


@pytest.mark.parametrize("event", [None, {"selection": {"points": []}}])
def test_nothing_selected_is_no_cell(event):
    assert charts.cell_of(event) is None


def test_the_selected_mark_gives_the_cell():
    event = {"selection": {"points": [{"x": "a", "y": "b", "customdata": [3, 5]}]}}
    assert charts.cell_of(event) == Cell(3, 5)


def test_bars_show_cosine_and_probability_apart():
    spread = np.array([0.01, 0.02, 0.03], np.float32)
    figure = charts.label_bars(COLUMNS, VALUES[0], VALUES[0] + 0.2, spread)
    cosine, _, probability, _ = figure.data
    np.testing.assert_array_equal(cosine.x, VALUES[0])
    np.testing.assert_array_equal(probability.x, VALUES[0] + 0.2)
    assert cosine.xaxis != probability.xaxis
    np.testing.assert_array_equal(cosine.error_x.array, spread)
    assert probability.error_x.array is None
    assert cosine.hovertext[0] == (
        "“a cat”: cosine 0.273, probability 0.473<br>"
        "the templates differ by 0.010 (standard deviation)"
    )


def test_numbers_stand_behind_the_error_bars_inside_the_panel():
    spread = np.array([0.01, 0.02, 0.5], np.float32)
    figure = charts.label_bars(COLUMNS, VALUES[0], None, spread)
    numbers = figure.data[1]
    np.testing.assert_allclose(numbers.x, [0.283, 0.12, 0.45], rtol=1e-6)
    assert [text.strip() for text in numbers.text] == ["0.273", "0.100", "-0.050"]
    low, high = figure.layout.xaxis.range
    assert low < -0.05
    assert high > 0.45 * 1.3


def test_one_label_has_no_panel_for_a_probability():
    figure = charts.label_bars(["a cat"], VALUES[0, :1])
    assert len(figure.data) == 2
    assert "xaxis2" not in figure.layout
    assert "probability" not in figure.data[0].hovertext[0]
