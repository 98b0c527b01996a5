"""The one custom component: mosaic, map, arcs, sentence, excerpt, picture, heat map."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import streamlit as st

from app.components.canvas_script import WAITING
from core.maps.regions import Region
from core.picture.canvas.packing import packed
from core.picture.canvas.views import Head, Scale, ViewData

Callback = Callable[[], None]

CANVAS = st.components.v2.component("headlight_canvas", js=WAITING)


class PatchQuery(NamedTuple):
    """A patch that the visitor made the query."""

    row: int
    column: int


def ignore() -> None:
    """Streamlit lists a state among the results only where it has a callback."""


def mosaic(data: ViewData, *, key: str, on_head_change: Callback = ignore) -> None:
    """Show all heads (`mosaic_data`); `head_of` reads the one that was clicked."""
    CANVAS(data=data, key=key, on_head_change=on_head_change)


def head_map(
    data: ViewData,
    *,
    key: str,
    on_row_change: Callback = ignore,
    on_region_change: Callback = ignore,
    on_scale_change: Callback = ignore,
) -> None:
    """Show one head as map or arcs (`map_data`); `row_of` reads the pinned row, `scale_of` how
    colour follows the weight.

    Of a long text (`zoom_data`) `cell_of` reads the cell that was clicked, and `region_of` the
    region that is wanted.
    """
    CANVAS(
        data=packed(data),
        key=key,
        on_row_change=on_row_change,
        on_region_change=on_region_change,
        on_scale_change=on_scale_change,
    )


def excerpt(data: ViewData, *, key: str, on_row_change: Callback = ignore) -> None:
    """Show passages of a long text (`excerpt_data`); `row_of` reads the token that was clicked."""
    CANVAS(data=data, key=key, on_row_change=on_row_change)


def sentence(data: ViewData, *, key: str) -> None:
    """Show the tokens (`sentence_data`); a click pins a row of the map, which reports it.

    Tokens shaded by values of their own have no map, and choose nothing.
    """
    CANVAS(data=data, key=key)


def patches(
    data: ViewData,
    *,
    key: str,
    on_query_change: Callback = ignore,
    on_head_change: Callback = ignore,
) -> None:
    """Show a picture with all heads (`patches_data`); `head_of` and `query_of` read the choices."""
    CANVAS(data=data, key=key, on_query_change=on_query_change, on_head_change=on_head_change)


def heat(data: ViewData, *, key: str) -> None:
    """Show a heat map on a picture (`heat_data`); it chooses nothing."""
    CANVAS(data=data, key=key)


def head_of(state: Mapping[str, int] | None) -> Head | None:
    """The browser's choice as a head; it also carries the time, so that no click goes unnoticed."""
    return None if state is None else Head(state["layer"], state["head"])


def row_of(state: Mapping[str, int | None] | None) -> int | None:
    """The browser's pinned row."""
    return None if state is None else state["query"]


def scale_of(state: Mapping[str, Scale] | None) -> Scale | None:
    """The scale that the visitor chose for the map's colours."""
    return None if state is None else state["scale"]


def cell_of(state: Mapping[str, list[int] | None] | None) -> Region | None:
    """The clicked cell of a long text's map, as the positions it stands for; None lets go."""
    return region_of(state) if state and "q" in state else None


def region_of(state: Mapping[str, list[int]] | None) -> Region | None:
    """The region of a long text that the browser wants to see."""
    return None if state is None else Region(tuple(state["q"]), tuple(state["k"]))


def query_of(state: Mapping[str, int] | None) -> PatchQuery | None:
    """The browser's choice of a patch."""
    return None if state is None else PatchQuery(state["row"], state["column"])
