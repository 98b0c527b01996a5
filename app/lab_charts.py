"""Charts of the lab: time and memory over the length, both logarithmic, one line a mechanism."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.words import say
from core.attention import MECHANISMS
from core.bench.attention.curves import Growth
from core.bench.attention.messages import Memory, Timing
from core.bench.attention.saved import Results, of_kind
from core.bench.attention.summary import memory_growth, time_growth

# Okabe and Ito's colours: told apart by colour-blind eyes, on light and on dark.
COLOURS = ("#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7", "#8c8c8c", "#b8a800")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star", "cross", "hexagon")
CLEAR = "rgba(0,0,0,0)"


def time_chart(results: Results) -> go.Figure:
    """Median seconds of a forward call, with its quartiles, and the fitted exponent."""
    figure = go.Figure()
    for arm in results.plan.arms:
        found = [
            each
            for each in of_kind(results.messages, Timing)
            if (each.arm, each.kind) == (arm, "forward")
        ]
        if found:
            growth = time_growth(results, arm)
            spreads = [each.spread for each in found]
            figure.add_trace(
                line(results, arm, [each.length for each in found],
                     [1000 * each.median for each in spreads],
                     growth)
            )  # fmt: skip
            figure.data[-1].error_y = {
                "type": "data",
                "symmetric": False,
                "array": [1000 * (each.high - each.median) for each in spreads],
                "arrayminus": [1000 * (each.median - each.low) for each in spreads],
                "thickness": 1,
            }
    return laid_out(figure, say("lab_time_axis"), results.plan.lengths)


def memory_chart(results: Results) -> go.Figure:
    """The most bytes that a forward call holds beyond its inputs, and the fitted exponent."""
    figure = go.Figure()
    for arm in results.plan.arms:
        found = {
            each.length: each.measured / 1e6
            for each in of_kind(results.messages, Memory)
            if (each.arm, each.kind) == (arm, "forward") and each.measured
        }
        if found:
            growth = memory_growth(results, arm)
            figure.add_trace(line(results, arm, list(found), list(found.values()), growth))
    return laid_out(figure, say("lab_memory_axis"), results.plan.lengths)


def line(
    results: Results, arm: str, lengths: list[int], values: list[float], growth: Growth | None
) -> go.Scatter:
    """One mechanism, in its own colour and with its own sign."""
    place = results.plan.arms.index(arm)
    title = MECHANISMS[arm].title
    # Two lengths leave nothing to judge a line by.
    told = growth is not None and growth.error is not None
    grows = say("lab_exponent", exponent=growth.exponent, error=growth.error) if told else ""
    return go.Scatter(
        x=lengths,
        y=values,
        name=f"{title}{grows}",
        mode="lines+markers",
        line={"color": COLOURS[place % len(COLOURS)], "width": 2},
        marker={"symbol": SYMBOLS[place % len(SYMBOLS)], "size": 8},
        hovertemplate=f"{title}: %{{x:,}} · %{{y:.3g}}<extra></extra>",
    )


def laid_out(figure: go.Figure, title: str, lengths: Sequence[int]) -> go.Figure:
    """Both axes logarithmic, the legend below, where a narrow screen has room."""
    grid: Mapping[str, object] = {"type": "log", "gridcolor": "rgba(128,128,128,0.25)"}
    figure.update_layout(
        height=380,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={
            **grid,
            "title": say("lab_length_axis"),
            "tickvals": list(lengths),
            "ticktext": [f"{length:,}" for length in lengths],
        },
        yaxis={**grid, "title": title, "dtick": 1},
        legend={"orientation": "h", "y": -0.25, "yanchor": "top"},
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        hovermode="closest",
    )
    return figure
