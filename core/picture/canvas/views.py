"""What each view of the canvas is given: one plain dictionary, in the app and in offline pages.

Labels are what a person reads; layers, heads and patches count from 0. `run` names the input and
model, so that views of one run follow each other in the browser and ignore all others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from core.picture.canvas.encode import Payload, encode_each, encode_signed, significant
from core.picture.colours.heat_scale import HeatScale, Middle, heat_scale
from core.picture.colours.palettes import ON_DARK, ON_LIGHT, diverging_table, known, packed

ViewData = dict[str, Any]
Scale = Literal["linear", "sqrt"]  # what colour follows: the weight, or its root


class Head(NamedTuple):
    """One head of the model, counted from 0."""

    layer: int
    head: int


class CanvasStyle(NamedTuple):
    """How a view looks: shared by all views of one page."""

    palette: str = "cividis"
    stale: bool = False  # the inputs changed since the run: the picture greys
    words: Mapping[str, str] = {}  # words by key; English stands in for what is missing


class Photo(NamedTuple):
    """A picture as the visitor knows it, and the part of it that the model saw."""

    url: str  # data URL
    width: int  # of the original, in pixels
    height: int
    seen: tuple[float, float, float, float]  # left, top, right, bottom in original pixels
    grid: tuple[int, int]  # rows and columns of patches inside `seen`


def common(view: str, run: str, style: CanvasStyle) -> ViewData:
    """The part that all views share."""
    return {
        "view": view,
        "run": run,
        "palette": known(style.palette),
        "stale": style.stale,
        "words": dict(style.words),
    }


def mosaic_data(
    grids: Payload,
    *,
    run: str,
    selected: Head | None = None,
    notes: Sequence[Sequence[str]] = (),
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """All heads: `grids` is `encode_each` of (layer, head, row, column).

    `selected` is the first choice only: later ones reach the mosaic through the map, so that this
    large dictionary stays the same and is not sent again. `notes[layer][head]` joins the tooltip.
    """
    return {
        **common("mosaic", run, style),
        "grids": grids,
        "selected": head_data(selected),
        "notes": [list(row) for row in notes],
    }


def map_data(
    weights: Payload,
    queries: Sequence[str],
    keys: Sequence[str],
    *,
    run: str,
    view: Literal["map", "arcs"] = "map",
    selected: Head | None = None,
    query: int | None = None,
    scale: Scale = "linear",
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """One head: `weights` is `encode_map`; `selected` is told to the mosaics of the same run.

    `query` pins a row when it differs from the one given before; None leaves the visitor's row.
    """
    return {
        **common(view, run, style),
        **weights,
        "queries": list(queries),
        "keys": list(keys),
        "selected": head_data(selected),
        "query": query,
        "scale": scale,
    }


def sentence_data(
    tokens: Sequence[str],
    *,
    run: str,
    role: Literal["both", "queries", "keys"] = "both",
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """The tokens of the map's rows, of its columns, or of both where they are the same."""
    return {**common("sentence", run, style), "tokens": list(tokens), "role": role}


def tokens_data(
    tokens: Sequence[str],
    values: Float[np.ndarray, " token"],
    *,
    run: str,
    unit: str,
    diverging: bool = False,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """Tokens shaded by a value each, such as a relevance; `unit` is what the value is.

    Raises:
        ValueError: if there is not one value a token, or a value does not fit the scale.
    """
    if len(tokens) != len(values):
        raise ValueError(f"{len(tokens)} values were wanted, one a token; {len(values)} came")
    return {
        **sentence_data(tokens, run=run, style=style),
        **scale_part(heat_scale(values, diverging=diverging)),
        "values": [significant(value) for value in values.tolist()],
        "unit": unit,
    }


def patches_data(
    rows: Float[np.ndarray, "layer head patch"],
    photo: Photo,
    *,
    run: str,
    query: tuple[int, int] | int,
    prefix_labels: Sequence[str] = (),
    prefix: Float[np.ndarray, "layer head prefix"] | None = None,
    direction: Literal["from", "to"] = "from",
    selected: Head | None = None,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """Every head's weights for one query, over the patches in reading order.

    `query` is a patch (row, column) or the number of a prefix token; `prefix` holds the weights of
    CLS and the registers, named by `prefix_labels`.

    Raises:
        ValueError: if the patches do not fill the grid, or a weight is negative or not finite.
    """
    if rows.shape[2] != photo.grid[0] * photo.grid[1]:
        raise ValueError(f"a grid of {photo.grid} patches was wanted; {rows.shape[2]} weights came")
    is_prefix = isinstance(query, int)
    return {
        **common("patches", run, style),
        "rows": encode_each(rows),
        "photo": photo._asdict(),
        "query": {"prefix": query} if is_prefix else {"row": query[0], "column": query[1]},
        "prefix_labels": list(prefix_labels),
        "prefix": [] if prefix is None else prefix_numbers(prefix),
        "direction": direction,
        "selected": head_data(selected),
    }


def heat_data(
    values: Float[np.ndarray, "row column"],
    photo: Photo,
    *,
    run: str,
    title: str,
    unit: str,
    diverging: bool = False,
    middle: Middle = "zero",
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """A value for each patch, laid on the picture; `unit` is what the value is, such as 'cosine'.

    See `heat_scale` for `diverging` and `middle`.

    Raises:
        ValueError: if the values do not fill the grid, or do not fit the scale.
    """
    if values.shape != tuple(photo.grid):
        raise ValueError(f"a grid of {photo.grid} values was wanted; {values.shape} came")
    return {
        **common("heat", run, style),
        **scale_part(heat_scale(values, diverging=diverging, middle=middle)),
        "values": encode_signed(values),
        "photo": photo._asdict(),
        "title": title,
        "unit": unit,
    }


def scale_part(scale: HeatScale) -> ViewData:
    """The scale of a heat map as the canvas wants it, with the tables of one that diverges."""
    grounds = {"on_dark": ON_DARK, "on_light": ON_LIGHT} if scale.diverging else {}
    tables = {name: packed(diverging_table(ground)) for name, ground in grounds.items()}
    return {"scale": scale._asdict(), "tables": tables}


def prefix_numbers(prefix: Float[np.ndarray, "layer head prefix"]) -> list[list[list[float]]]:
    """Few numbers, so plain ones."""
    layers = prefix.tolist()
    return [[[significant(weight) for weight in head] for head in layer] for layer in layers]


def head_data(head: Head | None) -> dict[str, int] | None:
    """A head as the canvas names it."""
    return None if head is None else {"layer": head.layer, "head": head.head}
