"""Parts of charts: axes of names, pictures beside them, the colour scale, what hover says."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from app.words import say
from core.picture.palettes import table

LETTERS = 20  # of a name on an axis; a longer one would leave no room for what it names
MOST_PICTURES = 24  # along an axis: more could not be told apart
BESIDE = 40  # pixels left of the rows and above the columns that their pictures may fill
ACCENT = "#e8590c"  # shows on every colour of the palettes, in both themes
COLOURS = ("#7fa3da", "#c7953f")  # of cosine and probability; both themes, told apart by all
CLEAR = "rgba(0,0,0,0)"
BARE = {
    "paper_bgcolor": CLEAR,
    "plot_bgcolor": CLEAR,
    "showlegend": False,
    "dragmode": False,
    "hovermode": "closest",
}


def name_axis(names: Sequence[str], **options: Any) -> dict[str, Any]:
    """An axis of names; Plotly leaves out those that have no room."""
    return {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(names),
        "showgrid": False,
        "zeroline": False,
        "ticks": "",
        "fixedrange": True,
        "automargin": True,
        **options,
    }


def top_axis(names: Sequence[str], **options: Any) -> dict[str, Any]:
    """The same over the columns; names that have no room side by side lean to the right."""
    return name_axis(names, side="top", autotickangles=[0, -45, -90], **options)


def axis_names(names: Sequence[str]) -> list[str]:
    """Short and each only once, as Plotly puts equal names into one row; `<` stays a letter."""
    taken: dict[str, None] = {}
    for name in names:
        short = unique = shortened(name)
        number = 1
        while unique in taken:
            number += 1
            unique = f"{short} ({number})"
        taken[unique] = None
    return [escape(name) for name in taken]


def shortened(name: str, letters: int = LETTERS) -> str:
    """The beginning of a long name."""
    return name if len(name) <= letters else f"{name[: letters - 1]}…"


def readable(name: str) -> str:
    """A name in a hover box: a prompt of a hundred words is cut, markup shown as it stands."""
    return escape(shortened(name, 60))


def numbers(
    cosine: Float[np.ndarray, "*shape"], probability: Float[np.ndarray, "*shape"] | None
) -> list[str]:
    """What hover says of each value, in reading order."""
    told = [say("chart_cosine", value=value) for value in cosine.ravel().tolist()]
    if probability is None:
        return told
    both = zip(told, probability.ravel().tolist(), strict=True)
    return [f"{text}, {say('chart_probability', value=share)}" for text, share in both]


def row_images(urls: Sequence[str]) -> list[dict[str, Any]]:
    """Pictures left of their rows; of very many, every n-th, its top where its row begins."""
    place = {"xref": "paper", "yref": "y", "x": -0.004, "xanchor": "right", "yanchor": "top"}
    return [
        {**place, "source": url, "y": row - 0.46, "sizex": 0.5, "sizey": 0.92 * step}
        for row, step, url in every(urls)
    ]


def column_images(urls: Sequence[str], height: int) -> list[dict[str, Any]]:
    """Pictures above their columns, which are `height` pixels tall; of very many, every n-th."""
    place = {"xref": "x", "yref": "paper", "y": 1 + 3 / height, "xanchor": "left"}
    place |= {"yanchor": "bottom", "sizey": BESIDE / height}
    return [
        {**place, "source": url, "x": column - 0.46, "sizex": 0.92 * step}
        for column, step, url in every(urls)
    ]


def every(urls: Sequence[str]) -> list[tuple[int, int, str]]:
    """At most `MOST_PICTURES` of them, with their place and the step between two."""
    step = max(1, -(-len(urls) // MOST_PICTURES))
    return [(place, step, urls[place]) for place in range(0, len(urls), step)]


def cell_ring(row: int, column: int) -> dict[str, Any]:
    """A frame round the chosen cell."""
    return {
        "type": "rect",
        "x0": column - 0.5,
        "x1": column + 0.5,
        "y0": row - 0.5,
        "y1": row + 0.5,
        "line": {"color": ACCENT, "width": 3},
    }


def colour_scale(palette: str) -> list[list[Any]]:
    """The palette in as many steps as the eye can tell apart."""
    colours = table(palette)[::15].tolist()
    return [[step / 17, "rgb({}, {}, {})".format(*rgb)] for step, rgb in enumerate(colours)]


def colour_bar(low: float, high: float) -> dict[str, Any]:
    """Below the cells, where a narrow screen has room; numbers at both ends and between."""
    values = [low, (low + high) / 2, high]
    return {
        "orientation": "h",
        "x": 0,
        "xanchor": "left",
        "y": 0,
        "yanchor": "top",
        "ypad": 8,
        "len": 0.6,
        "thickness": 8,
        "outlinewidth": 0,
        "tickvals": values,
        "ticktext": [f"{value:.2f}" for value in values],
        "title": {"side": "bottom"},
    }


def add_bars(
    figure: go.Figure,
    panel: int,
    names: Sequence[str],
    values: Float[np.ndarray, " label"],
    texts: Sequence[str],
    *,
    title: str,
    spread: Float[np.ndarray, " label"] | None = None,
) -> None:
    """Bars from 0 with their number behind the error bar, as one panel counted from 1."""
    numbers = [f" {value:.3f}" for value in values.tolist()]
    reach = values if spread is None else values + spread
    ends = np.maximum(reach, 0.0)
    hover = {"hovertext": texts, "hovertemplate": "%{hovertext}<extra></extra>"}
    error = (
        None
        if spread is None
        else {"array": spread, "thickness": 2, "width": 3, "color": "#6b7280"}
    )
    bars = go.Bar(
        x=values, y=names, orientation="h", marker_color=COLOURS[panel - 1], error_x=error, **hover
    )
    # Plotly writes a bar's own number over its error bar.
    written = go.Scatter(
        x=ends, y=names, text=numbers, mode="text", textposition="middle right", hoverinfo="skip"
    )
    figure.add_traces([bars, written], rows=1, cols=panel)
    low, high = min(0.0, float(values.min())), max(float(ends.max()), 1e-6)
    figure.update_xaxes(
        range=[low * 1.1, high * 1.5],
        title={"text": say(title), "standoff": 2},
        showgrid=False,
        showticklabels=False,
        fixedrange=True,
        ticks="",
        col=panel,
    )
