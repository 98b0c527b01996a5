"""Parts of charts: axes of names, pictures beside them, the colour scale, what hover says."""

from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float

from app.words import say
from core.picture.colours.palettes import table

LETTERS = 20  # of a name on an axis; a longer one would leave no room for what it names
LINE = 28  # letters of a line in a chart as narrow as 200 pixels
MOST_CELLS = 200_000  # sent as they are: with names and pictures that is under 2 MB
MOST_SIDE = 1_000  # rows or columns sent: no screen shows more, and their names are sent too
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
NUMBERS = {"l": 50, "r": 66}  # pixels beside the bars: `-0.273`, `<0.001 %`
HEAD = 20  # pixels of the titles over the bars
DOWN = 0.24  # of a row's height: bars stand below the name


class Steps(NamedTuple):
    """How many rows and columns are drawn as one."""

    rows: int
    columns: int


def steps_for(shape: tuple[int, ...]) -> Steps:
    """The least steps that keep a matrix small enough to send; as square as it was."""
    rows, columns = (-(-side // MOST_SIDE) for side in shape)
    while True:
        high, wide = -(-shape[0] // rows), -(-shape[1] // columns)
        if high * wide <= MOST_CELLS:
            return Steps(rows, columns)
        rows, columns = rows + (high >= wide), columns + (wide >= high)


def pooled(
    values: Float[np.ndarray, "row column"], steps: Steps
) -> Float[np.ndarray, "row column"]:
    """The largest value of each block: in a mean, the one pair that fits would vanish."""
    rows, columns = map(np.arange, (0, 0), values.shape, steps)
    return np.maximum.reduceat(np.maximum.reduceat(values, rows, axis=0), columns, axis=1)


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


def broken(name: str) -> str:
    """The same in lines that a narrow chart has room for."""
    return "<br>".join(map(escape, wrap(shortened(name, 60), fitting(name))))


def percent(share: float) -> str:
    """A probability in percent, with two digits where they tell something."""
    value = 100 * share
    if value < 0.001 or 99.9 < value < 100:
        return say("chart_percent_least" if value < 1 else "chart_percent_most")
    digits = ".1f" if 99 <= value < 100 else ".0f" if value >= 10 else ".2g"
    return say("chart_percent", value=format(round(value, 3), digits))


def numbers(
    cosine: Float[np.ndarray, "*shape"], probability: Float[np.ndarray, "*shape"] | None
) -> list[str]:
    """What hover says of each value, in reading order."""
    cosines = [say("chart_cosine", value=value) for value in cosine.ravel().tolist()]
    if probability is None:
        return cosines
    both = zip(cosines, probability.ravel().tolist(), strict=True)
    return [f"{text}, {say('chart_probability', value=percent(share))}" for text, share in both]


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
    place = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    return {"type": "rect", **place, "line": {"color": ACCENT, "width": 3}}


def colour_scale(palette: str) -> list[list[Any]]:
    """The palette in as many steps as the eye can tell apart."""
    colours = table(palette)[::15].tolist()
    return [[step / 17, "rgb({}, {}, {})".format(*rgb)] for step, rgb in enumerate(colours)]


def colour_bar(low: float, high: float, quantity: str) -> dict[str, Any]:
    """Below the cells, where a narrow screen has room; numbers at both ends and between."""
    values = [low, (low + high) / 2, high]
    place = {"x": 0, "xanchor": "left", "y": 0, "yanchor": "top", "ypad": 8}
    return {
        **place,
        "orientation": "h",
        "len": 0.6,
        "thickness": 8,
        "outlinewidth": 0,
        "tickvals": values,
        "ticktext": [
            f"{value:.2f}" if quantity == "cosine" else percent(value) for value in values
        ],
        "title": {"side": "bottom", "text": say(f"chart_{quantity}_axis")},
    }


def add_bars(
    figure: go.Figure,
    panel: int,
    values: Float[np.ndarray, " label"],
    numbers: Sequence[str],
    texts: Sequence[str],
    spread: Float[np.ndarray, " label"] | None = None,
    ends: tuple[float, float] | None = None,
) -> None:
    """Bars from 0 to the longest, or over `ends`, in panel 1 or 2; hover works in a whole row."""
    rows = np.arange(len(values))
    reach = np.zeros_like(values) if spread is None else spread
    low, high = float((values - reach).min(initial=0)), float((values + reach).max(initial=0))
    low, high = ends or (low, high)
    room = 0.04 * (high - low) or 1e-6
    low, high = low - room, high + room
    error = spread if spread is None else {"array": spread, "thickness": 2, "width": 3}
    bars = go.Bar(
        x=values, y=rows + DOWN, width=0.34, orientation="h", marker_color=COLOURS[panel - 1],
        error_x=error, error_x_color="#6b7280", hoverinfo="skip",
    )  # fmt: skip
    whole = go.Bar(
        x=[high - low] * len(rows), base=low, y=rows, width=1, orientation="h",
        marker={"color": CLEAR, "line": {"width": 0}}, hovertext=texts,
        hovertemplate="%{hovertext}<extra></extra>",
    )  # fmt: skip
    # Each row a line of its own: one through all of them would cross the names.
    places = [end for row in rows + DOWN for end in (row - 0.2, row + 0.2, None)]
    zero = go.Scatter(
        x=[0, 0, None] * len(rows), y=places, mode="lines", line={"color": "#8b93a1", "width": 1},
        hoverinfo="skip",
    )  # fmt: skip
    figure.add_traces([bars, whole, zero], rows=1, cols=panel)
    bare = {"showgrid": False, "zeroline": False, "fixedrange": True, "ticks": "", "col": panel}
    figure.update_xaxes(range=[low, high], showticklabels=False, **bare)
    figure.update_yaxes(
        range=[len(rows) - 0.5, -0.5], tickvals=rows + DOWN, ticktext=numbers, tickfont_size=12,
        side=("left", "right")[panel - 1], automargin=False, **bare,
    )  # fmt: skip


def bar_names(labels: Sequence[str]) -> list[dict[str, Any]]:
    """Each label's name over its bars, from the left edge on, so that it has the whole width."""
    place = {"x": 0, "xanchor": "left", "xshift": 4 - NUMBERS["l"], "yanchor": "top"}
    place |= {"xref": "paper", "yref": "y", "showarrow": False, "font_size": 13}
    return [
        {**place, "text": escape(shortened(label, fitting(label))), "y": row - 0.5}
        for row, label in enumerate(labels)
    ]


def fitting(name: str) -> int:
    """Letters of the name that a narrow chart has room for: Chinese ones are twice as wide."""
    return LINE // 2 if any(east_asian_width(letter) in "WF" for letter in name) else LINE


def bar_titles(panels: int) -> list[dict[str, Any]]:
    """What the bars of each colour are, at the outer edges, where the two cannot meet."""
    left = {"x": 0, "xanchor": "left", "xshift": 4 - NUMBERS["l"]}
    right = {"x": 1, "xanchor": "right", "xshift": NUMBERS["r"] - 4}
    place = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "showarrow": False}
    titles = (say("chart_cosine_axis"), say("chart_probability_axis"))
    return [
        {**place, **end, "text": f'<span style="color:{colour}">■</span> {title}', "font_size": 12}
        for end, colour, title in list(zip((left, right), COLOURS, titles, strict=True))[:panels]
    ]
