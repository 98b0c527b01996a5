"""Charts: arrays in, Plotly figure out. Nothing here knows of the page that shows them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from plotly.io import to_json
from plotly.subplots import make_subplots

from app.charts import parts
from app.words import say
from core.errors import InputError

CLICKABLE = 4_000  # cells up to which each has a mark of its own, so that a click can choose it
HIT = 120  # rows or columns up to which a cell of a full-size chart is 6 pixels or more
MOST_SQUARE = 3_000  # things among themselves: 10,000 would be 400 MB before anything is drawn
WRITTEN = 8  # columns up to which a cell has room for its number, on a phone too
APART = 24  # columns or rows up to which a line parts the cells
PITCH = 24  # pixels of a row of cells with a name beside it
PICTURE_PITCH = 38  # the same with a picture beside it
LEAST_HEIGHT, MOST_HEIGHT = 120, 760  # pixels of all cells together
LEANING = 90  # pixels for names that have no room side by side; they would come off the cells
ROOMY = 4  # columns up to which names have room on a phone too
BELOW = 64  # pixels for the colour scale
BAR = 38  # pixels of one label: its name, and below it its bars


class Cell(NamedTuple):
    """One cell of a matrix, counted from 0."""

    row: int
    column: int


def similarity_matrix(
    values: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    row_pictures: Sequence[str] = (),
    column_pictures: Sequence[str] = (),
    probability: Float[np.ndarray, "row column"] | None = None,
    quantity: Literal["cosine", "probability"] = "cosine",
    symmetric: bool = False,
    chosen: Cell | None = None,
    palette: str = "cividis",
) -> go.Figure:
    """Cosines as a heat map, its first row on top; pictures (data URLs) stand in for their names.

    `values` are cosines. Where `probability` is given, hover tells both, and `quantity` is which of
    the two has the colours. Where it is `clickable`, a click gives `cell_of` the cell. `symmetric`:
    rows and columns are the same things, so the diagonal is 1 by itself and does not set the scale.
    It is at most 2 MB: of a matrix too large, blocks are drawn as one cell, as `pooled_note` says.

    Raises:
        ValueError: if probabilities are to be shown and there are none.
    """
    if quantity == "probability" and probability is None:
        raise ValueError("a probability for each cell was wanted; none came")
    steps = parts.steps_for(values.shape)
    drawn = parts.pooled(values if quantity == "cosine" else probability, steps)
    shown_rows = parts.axis_names(rows[:: steps.rows])
    shown_columns = parts.axis_names(columns[:: steps.columns])
    row_pictures = row_pictures[:: steps.rows]
    column_pictures = column_pictures[:: steps.columns]
    figure = go.Figure(heat_map(drawn, shown_rows, shown_columns, quantity, symmetric, palette))
    if max(steps) > 1:
        rough = say(f"chart_block_{quantity}", rows=steps.rows, columns=steps.columns)
        figure.update_traces(hovertemplate=rough)
    if clickable(values.shape):
        texts = cell_texts(values, rows, columns, probability, symmetric)
        figure.add_trace(cell_marks(shown_rows, shown_columns, texts))
    pitch = PICTURE_PITCH if row_pictures else PITCH
    height = min(MOST_HEIGHT, max(LEAST_HEIGHT, pitch * len(shown_rows)))
    left, top = (parts.BESIDE + 8 if urls else 8 for urls in (row_pictures, column_pictures))
    figure.update_layout(
        **parts.BARE,
        height=height + top + BELOW + (0 if column_pictures or len(columns) <= ROOMY else LEANING),
        margin={"l": left, "r": 8, "t": top, "b": BELOW},
        xaxis=parts.top_axis(shown_columns, showticklabels=not column_pictures),
        yaxis=parts.name_axis(shown_rows, showticklabels=not row_pictures, autorange="reversed"),
        images=[*parts.row_images(row_pictures), *parts.column_images(column_pictures, height)],
        shapes=[] if chosen is None else [parts.cell_ring(*np.floor_divide(chosen, steps))],
        # The nearest mark is the cell's own: marks are the middles of equal rectangles.
        hoverdistance=-1,
    )
    return figure


def clickable(shape: tuple[int, ...]) -> bool:
    """Can a click choose a cell of such a matrix? If not, the page offers lists to choose from.

    Up to `CLICKABLE` cells, and up to `HIT` rows and columns: 4 x 998 cells are few, but each would
    be a pixel wide, and a click would choose one that nobody meant.
    """
    return shape[0] * shape[1] <= CLICKABLE and max(shape) <= HIT


def pooled_note(shape: tuple[int, ...]) -> str:
    """What the chart of such a matrix leaves out, for the page to say; empty if nothing."""
    steps = parts.steps_for(shape)
    if max(steps) > 1:
        return say("chart_pooled", rows=steps.rows, columns=steps.columns)
    return say("chart_thinned") if max(shape) > APART else ""


def require_square(count: int) -> None:
    """Refuse to compare very many things among themselves, before it is computed.

    Raises:
        InputError: if there are more than `MOST_SQUARE`.
    """
    if count > MOST_SQUARE:
        raise InputError(say("chart_too_many", most=MOST_SQUARE, count=count))


def cell_of(event: Mapping[str, Any] | None) -> Cell | None:
    """The cell in what `st.plotly_chart(on_select=...)` gives; None where none is selected."""
    points = event["selection"]["points"] if event else []
    return Cell(*points[0]["customdata"]) if points else None


def heat_map(
    values: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    quantity: str,
    symmetric: bool,
    palette: str,
) -> go.Heatmap:
    """The colours, with their scale below; where no click finds a cell, the number on hover too."""
    is_clickable = clickable(values.shape)
    low, high = limits(values, symmetric)
    gap = int(is_clickable and max(values.shape) <= APART)
    number = "{:.2f}".format if quantity == "cosine" else parts.percent
    has_room = is_clickable and len(columns) <= WRITTEN
    written = [[number(value) for value in row] for row in values.tolist()] if has_room else None
    return go.Heatmap(
        z=np.ascontiguousarray(values, np.float32),
        x=columns,
        y=rows,
        zmin=low,
        zmax=high,
        colorscale=parts.colour_scale(palette),
        colorbar=parts.colour_bar(low, high, quantity),
        hoverinfo="skip" if is_clickable else None,
        hovertemplate=None if is_clickable else say(f"chart_cell_{quantity}"),
        text=written,
        texttemplate="%{text}" if written else None,
        xgap=gap,
        ygap=gap,
    )


def limits(values: Float[np.ndarray, "row column"], symmetric: bool) -> tuple[float, float]:
    """The ends of the colour scale."""
    leaves_out = symmetric and len(values) > 1
    coloured = values[~np.eye(len(values), dtype=bool)] if leaves_out else values
    return float(coloured.min()), float(coloured.max())


def cell_marks(rows: Sequence[str], columns: Sequence[str], texts: Sequence[str]) -> go.Scatter:
    """A mark that nobody sees in every cell: heat maps tell Streamlit nothing of a click."""
    unseen = {"marker": {"opacity": 0}}
    return go.Scatter(
        x=list(columns) * len(rows),
        y=[row for row in rows for _ in columns],
        mode="markers",
        # Small: of marks that overlap under the pointer, Plotly takes the first.
        marker={"symbol": "square", "size": 4, "opacity": 0, "color": parts.ACCENT},
        selected=unseen,
        unselected=unseen,
        customdata=[[row, column] for row in range(len(rows)) for column in range(len(columns))],
        text=texts,
        hovertemplate="%{text}<extra></extra>",
    )


def cell_texts(
    values: Float[np.ndarray, "row column"],
    rows: Sequence[str],
    columns: Sequence[str],
    probability: Float[np.ndarray, "row column"] | None,
    symmetric: bool,
) -> list[str]:
    """What hover says of each cell, row by row."""
    key = "chart_pair" if symmetric else "chart_cell"
    across = [parts.readable(column) for column in columns]
    pairs = [(parts.readable(row), column) for row in rows for column in across]
    return [
        say(key, row=row, column=column, numbers=numbers)
        for (row, column), numbers in zip(pairs, parts.numbers(values, probability), strict=True)
    ]


def label_bars(
    labels: Sequence[str],
    cosine: Float[np.ndarray, " label"],
    probability: Float[np.ndarray, " label"] | None = None,
    spread: Float[np.ndarray, " label"] | None = None,
) -> go.Figure:
    """The labels of one picture, the first on top: cosines, and apart from them probabilities.

    Each name stands over its bars, the numbers beside them, so that 200 pixels are enough. `spread`
    is drawn as an error bar. Where there is no probability (one label), there is no panel.
    """
    panels = 1 if probability is None else 2
    figure = make_subplots(1, panels, horizontal_spacing=0.08)
    texts = bar_texts(labels, cosine, probability, spread)
    parts.add_bars(figure, 1, cosine, [f"{value:.3f}" for value in cosine.tolist()], texts, spread)
    if probability is not None:
        shares = [parts.percent(share) for share in probability.tolist()]
        # To 100 %: beside the best of its own, a picture that fits nothing would look sure.
        parts.add_bars(figure, 2, probability, shares, texts, ends=(0.0, 1.0))
    figure.update_layout(
        **parts.BARE,
        height=BAR * len(labels) + parts.HEAD + 4,
        margin={**parts.NUMBERS, "t": parts.HEAD, "b": 4} | ({"r": 8} if panels == 1 else {}),
        barmode="overlay",
        annotations=[*parts.bar_titles(panels), *parts.bar_names(labels)],
        hoverlabel_align="left",
    )
    return figure


def bar_texts(
    labels: Sequence[str],
    cosine: Float[np.ndarray, " label"],
    probability: Float[np.ndarray, " label"] | None,
    spread: Float[np.ndarray, " label"] | None,
) -> list[str]:
    """What hover says of each label."""
    bars = zip(labels, parts.numbers(cosine, probability), strict=True)
    texts = [say("chart_bar", label=parts.broken(label), numbers=text) for label, text in bars]
    if spread is None:
        return texts
    spreads = spread.tolist()
    return [
        f"{text}<br>{say('chart_spread', value=value)}"
        for text, value in zip(texts, spreads, strict=True)
    ]


def bytes_sent(figure: go.Figure) -> int:
    """Bytes of the figure as Streamlit sends it, before the connection deflates them."""
    return len(to_json(figure, validate=False).encode())
