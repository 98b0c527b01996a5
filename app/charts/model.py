"""Chart of a whole model: how far each layer by itself moves the output, by every mechanism."""

import numpy as np
import plotly.graph_objects as go

from app.charts import parts
from app.words import say
from core.attention import MECHANISMS
from core.bench.model.layers import in_words
from core.bench.model.measuring import Cell
from core.bench.model.study import ModelStudy
from core.bench.model.verdict import cosine

PITCH = 26  # pixels of a layer
TOP, BOTTOM = 84, 60  # pixels for the names of the mechanisms, which may lean, and for the scale
LEAST = 0.01  # the scale reaches so far at least: rounding is not to look like drift
# Zero is the page's own background. The other end lets it through as well, so that numbers in the
# colour of the page's text stay readable on it, on light and on dark.
TEXT = {"light": "#1f2430", "dark": "#e8eaee"}
COLOURS = [[0, "rgba(232,89,12,0)"], [1, "rgba(232,89,12,0.72)"]]


def layer_drift_chart(study: ModelStudy, theme: str | None = "light") -> go.Figure:
    """A heat map, the first layer on top; numbers are 1 - cosine.

    Args:
        study: what was measured.
        theme: 'light' or 'dark', of the page; None where it is not known yet.
    """
    names = tuple(dict.fromkeys(cell.mechanism for cell in study.cells))
    calls = tuple(dict.fromkeys(cell.call for cell in study.cells))
    cells = {(cell.call, cell.mechanism): cell for cell in study.cells}
    rows = [[cells[call, name] for name in names] for call in calls]
    columns = [MECHANISMS[name].title for name in names]
    layers = [study.layers[call].name for call in calls]
    values = np.array([[drift(cell) for cell in row] for row in rows])
    highest = max(LEAST, float(np.nanmax(values, initial=0.0)))
    figure = go.Figure(
        go.Heatmap(
            z=values, x=columns, y=layers, zmin=0, zmax=highest, colorscale=COLOURS, xgap=1, ygap=1,
            text=[[hover(study, cell) for cell in row] for row in rows],
            hovertemplate="%{text}<extra></extra>", hoverongaps=True,
            colorbar=scale(highest),
        )
    )  # fmt: skip
    # A trace of its own: letters of a heat map would not take the page's colour.
    figure.add_trace(
        go.Scatter(
            x=columns * len(layers), y=[layer for layer in layers for _ in columns], mode="text",
            text=[written(cell) for row in rows for cell in row], hoverinfo="skip",
            textfont={"size": 11, "color": TEXT.get(theme)},
        )
    )  # fmt: skip
    figure.update_layout(
        **parts.BARE,
        height=PITCH * len(layers) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        xaxis=parts.top_axis(columns),
        yaxis=parts.name_axis(layers, autorange="reversed", title=say("lab_whole_layer_axis")),
    )
    return figure


def page(study: ModelStudy) -> str:
    """The picture as a page that opens offline."""
    figure = layer_drift_chart(study)
    title = say("lab_whole_title", model=study.model)
    figure.update_layout(title={"text": parts.readable(title), "y": 0.99, "yanchor": "top"})
    figure.update_layout(margin_t=TOP + 40, height=figure.layout.height + 40)
    return figure.to_html(include_plotlyjs=True, config={"displayModeBar": False})


def drift(cell: Cell) -> float:
    """1 - cosine; not a number where the mechanism was refused."""
    return float("nan") if cell.cosine is None else 1 - cell.cosine


def written(cell: Cell) -> str:
    """The drift in three decimals, as short as a narrow cell needs it."""
    if cell.cosine is None:
        return say("lab_whole_refused_sign")
    value = drift(cell)
    if value < 0.0005:
        return "0" if value < 5e-7 else "&lt;.001"
    return f"{value:.3f}"


def hover(study: ModelStudy, cell: Cell) -> str:
    """The cell in words."""
    layer = in_words((cell.call,), study.layers).capitalize()
    title = MECHANISMS[cell.mechanism].title
    if cell.cosine is None:
        return say("lab_whole_cell_refused", layer=layer, mechanism=title)
    return say(
        "lab_whole_cell", layer=layer, mechanism=title, cosine=cosine(cell.cosine),
        drift=f"{drift(cell):.2g}",
    )  # fmt: skip


def scale(highest: float) -> dict:
    """Below the cells, where a narrow screen has room."""
    values = [0, highest / 2, highest]
    return {
        "orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "ypad": 8,
        "len": 0.6, "thickness": 8, "outlinewidth": 0, "tickvals": values,
        "ticktext": [f"{value:.2g}" for value in values],
        "title": {"side": "bottom", "text": say("lab_whole_scale")},
    }  # fmt: skip
