"""Dots of the lab: time and memory at one length, one line a mechanism; curves need two lengths."""

from collections.abc import Mapping

import plotly.graph_objects as go

from app.charts.marks import GREY, mark
from app.charts.sweep import CLEAR, FAINT
from app.words import say
from core.attention import title_of
from core.bench.sweep.messages import Machine, Memory, Timing
from core.bench.sweep.saved import Results, of_kind

ROW, FRAME = 30, 90  # pixels


def time_dots(results: Results) -> go.Figure:
    """Median milliseconds of a forward call with quartiles, and the machine's limit."""
    found = {
        each.mechanism: each
        for each in of_kind(results.messages, Timing)
        if each.kind == "forward"
    }  # fmt: skip
    machines = of_kind(results.messages, Machine)
    limits = {
        mechanism: 1000 * limit
        for mechanism, each in found.items()
        if machines and (limit := machines[-1].limit(each)) is not None
    }
    figure = dots(
        {mechanism: 1000 * each.spread.median for mechanism, each in found.items()}, limits,
        say("lab_limit_hover"),
    )  # fmt: skip
    spreads = [each.spread for each in found.values()]
    figure.data[-1].error_x = {
        "type": "data",
        "symmetric": False,
        "array": [1000 * (each.high - each.median) for each in spreads],
        "arrayminus": [1000 * (each.median - each.low) for each in spreads],
        "thickness": 1,
        "color": GREY,
    }
    return laid_out(figure, say("lab_time_axis"), len(found))


def memory_dots(results: Results) -> go.Figure:
    """The most MB that a forward call holds beyond its inputs, and what the formula says."""
    found = {
        each.mechanism: each
        for each in of_kind(results.messages, Memory)
        if each.kind == "forward" and each.measured
    }
    formulas = {mechanism: each.formula / 1e6 for mechanism, each in found.items() if each.formula}
    peaks = {mechanism: each.measured / 1e6 for mechanism, each in found.items()}
    figure = dots(peaks, formulas, say("lab_formula_hover"))
    return laid_out(figure, say("lab_memory_axis"), len(found))


def dots(values: Mapping[str, float], beside: Mapping[str, float], what: str) -> go.Figure:
    """Signs in a row of their own each, with a stroke for what they are measured against."""
    figure = go.Figure()
    for symbol, width, numbers, about in (
        ("line-ns-open", 2, beside, f", {what}"), (None, 0, values, ""),
    ):  # fmt: skip
        mechanisms = list(numbers)
        titles = [title_of(mechanism) for mechanism in mechanisms]
        figure.add_trace(
            go.Scatter(
                x=list(numbers.values()), y=titles,
                name=about.strip(", "), mode="markers",
                marker={
                    "symbol": symbol or [mark(mechanism).symbol for mechanism in mechanisms],
                    "color": [mark(mechanism).colour for mechanism in mechanisms],
                    "size": 14 if symbol else 10,
                    "line": {"width": width},
                    "opacity": FAINT if symbol else 1,
                },
                hovertemplate=f"%{{y}}{about}: %{{x:.3g}}<extra></extra>",
            )
        )  # fmt: skip
    return figure


def laid_out(figure: go.Figure, title: str, rows: int) -> go.Figure:
    """The names at the left in the order of the plan, a logarithmic axis below."""
    grid = "rgba(128,128,128,0.25)"
    figure.update_layout(
        height=FRAME + ROW * rows,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={"type": "log", "title": title, "gridcolor": grid, "dtick": 1},
        yaxis={"autorange": "reversed", "gridcolor": grid, "automargin": True},
        showlegend=False,
        paper_bgcolor=CLEAR,
        plot_bgcolor=CLEAR,
        hovermode="closest",
    )
    return figure
