"""Charts of the lab: time and memory over the length, both logarithmic, one line a mechanism."""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.charts.marks import mark
from app.words import say
from core.attention import title_of
from core.bench.results.curves import Crossing, Growth
from core.bench.results.standing import standings
from core.bench.results.summary import memory_growth, time_growth
from core.bench.sweep.messages import Machine, Memory, Timing
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results, of_kind

CLEAR = "rgba(0,0,0,0)"
FAINT = 0.55
PLOT, LEGEND = 320, 13  # pixels: of the chart, and more for each mechanism's line in the legend
MANY = 3  # crossings beyond which their signs would hide the curves


def unit_of(plan: Plan) -> str:
    """What is counted along a sweep."""
    return say("lab_unit_batch" if plan.batches else "lab_unit")


def time_chart(results: Results, before: Results | None = None) -> go.Figure:
    """Median milliseconds of a forward call with quartiles, the machine's limit, the crossings.

    Those of another run are dotted.
    """
    figure = go.Figure()
    machines = of_kind(results.messages, Machine)
    for mechanism in results.plan.mechanisms:
        found = timings(results, mechanism)
        if not found:
            continue
        limits = {
            each.length: 1000 * limit
            for each in found
            if machines and (limit := machines[-1].limit(each)) is not None
        }
        if limits:
            figure.add_trace(dashed(mechanism, limits, say("lab_limit_hover")))
        spreads = [each.spread for each in found]
        times = {each.length: 1000 * each.spread.median for each in found}
        figure.add_trace(line(mechanism, times, time_growth(results, mechanism)))
        figure.data[-1].error_y = {
            "type": "data",
            "symmetric": False,
            "array": [1000 * (each.high - each.median) for each in spreads],
            "arrayminus": [1000 * (each.median - each.low) for each in spreads],
            "thickness": 1,
        }
    add_crossings(figure, results)
    for mechanism in before.plan.mechanisms if before else ():
        times = {e.length: 1000 * e.spread.median for e in timings(before, mechanism)}
        add_before(figure, mechanism, times)
    return laid_out(figure, say("lab_time_axis"), results)


def memory_chart(results: Results, before: Results | None = None) -> go.Figure:
    """The most MB that a forward call holds beyond its inputs, and what the formula says.

    Those of another run are dotted.
    """
    figure = go.Figure()
    for mechanism in results.plan.mechanisms:
        found = memories(results, mechanism)
        if not found:
            continue
        formulas = {each.length: each.formula / 1e6 for each in found if each.formula}
        if formulas:
            figure.add_trace(dashed(mechanism, formulas, say("lab_formula_hover")))
        peaks = {each.length: each.measured / 1e6 for each in found}
        figure.add_trace(line(mechanism, peaks, memory_growth(results, mechanism)))
    for mechanism in before.plan.mechanisms if before else ():
        peaks = {each.length: each.measured / 1e6 for each in memories(before, mechanism)}
        add_before(figure, mechanism, peaks)
    return laid_out(figure, say("lab_memory_axis"), results)


def memories(results: Results, mechanism: str) -> list[Memory]:
    """The peaks of a mechanism's forward calls that could be measured."""
    return [
        each
        for each in of_kind(results.messages, Memory)
        if (each.mechanism, each.kind) == (mechanism, "forward") and each.measured
    ]


def add_before(figure: go.Figure, mechanism: str, values: Mapping[int, float]) -> None:
    """A mechanism in another run: its colour and sign, dotted and thinner."""
    if not values:
        return
    name = say("lab_before_line", title=title_of(mechanism))
    added = line(mechanism, values, None)
    added.update(
        name=name, line={"width": 1, "dash": "dot"}, marker={"size": 6},
        hovertemplate=f"{name}: %{{x:,}} · %{{y:.3g}}<extra></extra>",
    )  # fmt: skip
    figure.add_trace(added)


def timings(results: Results, mechanism: str) -> list[Timing]:
    """The forward calls of a mechanism."""
    return [
        each
        for each in of_kind(results.messages, Timing)
        if (each.mechanism, each.kind) == (mechanism, "forward")
    ]


def line(mechanism: str, values: Mapping[int, float], growth: Growth | None) -> go.Scatter:
    """One mechanism, in its own colour and with its own sign."""
    title = title_of(mechanism)
    # Two lengths leave nothing to judge a line by.
    told = growth is not None and growth.error is not None
    grows = say("lab_exponent", exponent=growth.exponent, error=growth.error) if told else ""
    return go.Scatter(
        x=list(values),
        y=list(values.values()),
        name=f"{title}{grows}",
        legendgroup=mechanism,
        mode="lines+markers",
        line={"color": mark(mechanism).colour, "width": 2},
        marker={"symbol": mark(mechanism).symbol, "size": 9},
        hovertemplate=f"{title}: %{{x:,}} · %{{y:.3g}}<extra></extra>",
    )


def dashed(mechanism: str, values: Mapping[int, float], what: str) -> go.Scatter:
    """What a mechanism is measured against, behind its line; a click on its name hides both."""
    title = title_of(mechanism)
    return go.Scatter(
        x=list(values),
        y=list(values.values()),
        name=what,
        legendgroup=mechanism,
        showlegend=False,
        mode="lines" if len(values) > 1 else "markers",
        opacity=FAINT,
        line={"color": mark(mechanism).colour, "width": 1, "dash": "dash"},
        marker={"symbol": "line-ew-open", "color": mark(mechanism).colour, "size": 16},
        hovertemplate=f"{title}, {what}: %{{x:,}} · %{{y:.3g}}<extra></extra>",
    )


def add_crossings(figure: go.Figure, results: Results) -> None:
    """A ring where a mechanism takes as long as the base, as wide as that is uncertain."""
    meetings = [(each.mechanism, at) for each in standings(results) for at in each.crossings]
    if len(meetings) > MANY:
        return
    base = {each.length: 1000 * each.spread.median for each in timings(results, results.plan.base)}
    unit = unit_of(results.plan)
    for mechanism, crossing in meetings:
        figure.add_trace(crossing_sign(mechanism, crossing, between(base, crossing.length), unit))


def crossing_sign(mechanism: str, crossing: Crossing, height: float, unit: str) -> go.Scatter:
    """One of them."""
    title = title_of(mechanism)
    low = crossing.length if crossing.low is None else crossing.low
    high = crossing.length if crossing.high is None else crossing.high
    return go.Scatter(
        x=[crossing.length],
        y=[height],
        name="",
        legendgroup=mechanism,
        showlegend=False,
        mode="markers",
        marker={"symbol": "circle-open", "size": 18, "color": mark(mechanism).colour},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - crossing.length],
            "arrayminus": [crossing.length - low],
            "thickness": 1.5,
            "color": mark(mechanism).colour,
        },
        hovertemplate=f"{title}: {say('lab_crossing_hover', unit=unit)}<extra></extra>",
    )


def between(values: Mapping[int, float], length: float) -> float:
    """The value at a length between two measured ones, on a straight line of the chart."""
    left = max((n for n in values if n <= length), default=min(values))
    right = min((n for n in values if n >= length), default=max(values))
    if left == right:
        return values[left]
    share = math.log(length / left) / math.log(right / left)
    return values[left] ** (1 - share) * values[right] ** share


def laid_out(figure: go.Figure, title: str, results: Results) -> go.Figure:
    """Both axes logarithmic, the legend below, where a narrow screen has room."""
    lengths: Sequence[int] = results.plan.points
    grid: Mapping[str, object] = {"type": "log", "gridcolor": "rgba(128,128,128,0.25)"}
    figure.update_layout(
        height=PLOT + LEGEND * len(results.plan.mechanisms),
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        xaxis={
            **grid,
            "title": unit_of(results.plan),
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
