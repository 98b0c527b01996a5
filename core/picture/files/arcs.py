"""Arcs as a picture to print: queries left, keys right, as canvas/map/arcs.js draws."""

from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from core.maps.labelled import LabelledMap
from core.picture.files.export import PINNED, label_axis, paper_colours, rendered, titled

ALL_LINES = 128  # tokens a side up to which every line is drawn
STRONGEST = 400  # lines that are drawn of more
FAINTEST = 0.01  # of the largest weight: what is weaker cannot be seen
NUMBERS = 8  # weights of a pinned query that are written beside their keys
STRONG = 200  # table entry that the strongest line has
BEND = 0.45  # of the width over which a line leaves its token


def to_arcs_png(labelled: LabelledMap, palette: str = "cividis", pin: int | None = None) -> bytes:
    """One head as lines; with a pinned query, its lines alone, on their own scale."""
    count = max(labelled.weights.shape)
    height = 1.4 + min(max(0.22 * count, 2.0), 12.0)
    figure = Figure(figsize=(8, height), dpi=150, layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    for axes, tokens in ((left, labelled.rows), (right, _numbered(labelled, pin))):
        axes.set(xlim=(0, 1), ylim=(count - 0.5, -0.5), xticks=[])
        label_axis(axes.yaxis, tokens, rotation=0)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
    left.set_ylabel("queries")
    right.set_ylabel("keys")
    _draw(left, labelled, palette, pin)
    titled(figure, labelled.about.line())
    return rendered(figure, labelled.about.lines())


def lines(weights: np.ndarray, pin: int | None = None) -> Iterator[tuple[int, int, float]]:
    """Query, key and share of the largest weight of every line, the weakest first."""
    part = weights if pin is None else weights[pin : pin + 1]
    top = float(part.max(initial=0.0))
    order = np.argsort(part, axis=None, kind="stable")
    order = order[part.ravel()[order] > FAINTEST * top]
    if max(weights.shape) > ALL_LINES:
        order = order[-STRONGEST:]
    for query, key in zip(*np.unravel_index(order, part.shape), strict=True):
        yield int(query) + (pin or 0), int(key), float(part[query, key]) / top


def _draw(axes: Axes, labelled: LabelledMap, palette: str, pin: int | None) -> None:
    colour = paper_colours(palette)(STRONG)
    codes = [Path.MOVETO, *[Path.CURVE4] * 3]
    for query, key, share in lines(labelled.weights, pin):
        path = Path([(0, query), (BEND, query), (1 - BEND, key), (1, key)], codes)
        style = {"alpha": max(0.04, share), "linewidth": 0.8 + 2.2 * share}
        axes.add_patch(PathPatch(path, fill=False, edgecolor=colour, **style))
    if pin is not None:
        axes.plot(0, pin, marker=">", color=PINNED, clip_on=False)


def _numbered(labelled: LabelledMap, pin: int | None) -> list[str]:
    """The keys, the strongest of a pinned query with their weights."""
    if pin is None:
        return list(labelled.columns)
    row = labelled.weights[pin]
    strongest = {int(key) for key in np.argsort(row)[-NUMBERS:] if row[key] > 0}
    return [
        f"{key}  {row[at]:.3f}" if at in strongest else key
        for at, key in enumerate(labelled.columns)
    ]
