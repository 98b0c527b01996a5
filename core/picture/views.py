"""What each view of the canvas is given: one plain dictionary, in the app and in offline pages.

Labels are what a person reads; layers, heads and patches count from 0. `run` names the input and
model, so that views of one run follow each other in the browser and ignore all others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from core.picture.encode import Payload, encode_each, significant
from core.picture.palettes import palette

ViewData = dict[str, Any]


class Head(NamedTuple):
    """One head of the model, counted from 0."""

    layer: int
    head: int


class Look(NamedTuple):
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


def common(view: str, run: str, look: Look) -> ViewData:
    """The part that all views share."""
    return {
        "view": view,
        "run": run,
        "palette": palette(look.palette),
        "stale": look.stale,
        "words": dict(look.words),
    }


def mosaic_data(
    grids: Payload,
    *,
    run: str,
    selected: Head | None = None,
    notes: Sequence[Sequence[str]] = (),
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """All heads: `grids` is `encode_each` of (layer, head, row, column).

    `selected` is the first choice only: later ones reach the mosaic through the map, so that this
    large dictionary stays the same and is not sent again. `notes[layer][head]` joins the tooltip.
    """
    return {
        **common("mosaic", run, look),
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
    scale: Literal["linear", "sqrt"] = "linear",
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """One head: `weights` is `encode_map`; `selected` is told to the mosaics of the same run.

    `query` pins a row when it differs from the one given before; None leaves the visitor's row.
    """
    return {
        **common(view, run, look),
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
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """The tokens of the map's rows, of its columns, or of both where they are the same."""
    return {**common("sentence", run, look), "tokens": list(tokens), "role": role}


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
    look: Look = Look(),  # noqa: B008 immutable
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
        **common("patches", run, look),
        "rows": encode_each(rows),
        "photo": photo._asdict(),
        "query": {"prefix": query} if is_prefix else {"row": query[0], "column": query[1]},
        "prefix_labels": list(prefix_labels),
        "prefix": [] if prefix is None else prefix_numbers(prefix),
        "direction": direction,
        "selected": head_data(selected),
    }


def prefix_numbers(prefix: Float[np.ndarray, "layer head prefix"]) -> list[list[list[float]]]:
    """Few numbers, so plain ones."""
    layers = prefix.tolist()
    return [[[significant(weight) for weight in head] for head in layer] for layer in layers]


def head_data(head: Head | None) -> dict[str, int] | None:
    """A head as the canvas names it."""
    return None if head is None else {"layer": head.layer, "head": head.head}
