"""Patches: a picture with every head's weights for one query, and its downloads."""

from typing import NamedTuple

import pandas as pd
import streamlit as st

from app.components import canvas, downloads, sidebar
from app.services import pictures
from app.services.runs import Kept
from app.words import say
from core.maps import head_view
from core.maps.head_view import Choice
from core.maps.labelled import LabelledMap
from core.models.vision.images import Picture
from core.picture.canvas.scene import OFFLINE_STYLE, patches_scene, photo
from core.picture.canvas.views import Head
from core.picture.files import export
from core.picture.files.html import offline_html
from core.picture.files.overlay import overlay_png
from core.types import Position

MIDDLE = (0.5, 0.5)  # of the picture


class Query(NamedTuple):
    """A position of a group of calls, and whether it looks or is looked at."""

    group: int
    position: int
    looked_at: bool


@st.fragment
def show(kept: Kept, picture: Picture, stale: bool, key: str) -> None:
    """Choose a query and a head; both redraw this part only and run no model."""
    group = group_picker(kept, key)
    of = kept.run.prepared.groups[group]
    query, looked_at = controls(kept, group, key)
    what = f"{kept.wanted.model} {kept.wanted.given}"
    geometry = kept.run.prepared.geometry
    shown = pictures.photo_of(what, picture, geometry)
    shown = shown._replace(grid=geometry.of_group(of).grid)  # one picture, many grids
    style = sidebar.canvas_style(stale=stale)
    if of.queries != of.keys:  # a pool: there is no other query to click
        style = style._replace(words={**style.words, **OFFLINE_STYLE.words})
    scene = patches_scene(
        kept.run,
        shown,
        query,
        start_head(kept, group, key),
        looked_at=looked_at,
        group=group,
        name=f"{kept.wanted.name}-{group}",
        style=style,
    )
    canvas.patches(
        scene,
        key=f"{key}_canvas",
        on_query_change=lambda: take_query(kept, group, key),
        on_head_change=lambda: take_head(key),
    )
    if st.toggle(say("image_table"), key=f"{key}_table", help=say("image_table_help")):
        table(kept, Query(group, query, looked_at), key)
    offer(kept, picture, Query(group, query, looked_at), key)


def group_picker(kept: Kept, key: str) -> int:
    """Which attention is looked at: among the patches or the pool at the end; a stage of a Swin."""
    groups = kept.run.prepared.groups
    if len(groups) == 1:
        return 0
    in_windows = kept.run.trace.calls[groups[0].calls[0]].windows is not None
    return st.segmented_control(
        say("image_stage" if in_windows else "text_kind"),
        range(len(groups)),
        format_func=lambda index: groups[index].name,
        # The end makes the embedding: the pool's query, or the stage whose windows see most.
        default=len(groups) - 1,
        required=True,
        wrap=True,
        # By its choices: another model's groups are no choice here.
        key=f"{key}_group_of_{len(groups)}",
        help=say("image_stage_help") if in_windows else None,
    )


def table(kept: Kept, query: Query, key: str) -> None:
    """The numbers of the chosen head for this query, to sort and to hear."""
    row = labelled(kept, query, "", key)
    names = row.rows if query.looked_at else row.columns
    data = pd.DataFrame({say("image_position"): names, say("table_weight"): row.weights.ravel()})
    st.dataframe(data.sort_values(say("table_weight"), ascending=False), hide_index=True)


def labelled(kept: Kept, query: Query, given: str, key: str) -> LabelledMap:
    """The row or column of the chosen head, with its names."""
    head = head_of(kept, query.group, key)
    choice = Choice(query.group, head.layer, head.head)
    return head_view.labelled_query(
        kept.run, choice, query.position, given, looked_at=query.looked_at
    )


def controls(kept: Kept, group: int, key: str) -> tuple[int, bool]:
    """The position that looks, or is looked at."""
    positions = kept.run.prepared.groups[group].queries[0]
    state, query = st.session_state, chosen_query(kept, group, key)
    special = [index for index, position in enumerate(positions) if position.special]
    choices = special if query in special else [*special, query]
    state[f"{key}_named"] = query

    def take_named() -> None:
        state[f"{key}_query"] = state[f"{key}_named"]

    left, right = st.columns([57, 43])
    left.segmented_control(
        say("image_query"),
        choices,
        format_func=lambda index: positions[index].label,
        wrap=True,
        key=f"{key}_named",
        on_change=take_named,
        required=True,
        help=say("image_query_help"),
    )
    if positions != kept.run.prepared.groups[group].keys[0]:
        return query, False  # a pool looks, and nothing looks at it
    direction = right.segmented_control(
        say("image_direction"),
        ["from", "to"],
        format_func=lambda way: say(f"image_{way}"),
        default="from",
        required=True,
        wrap=True,
        key=f"{key}_direction",
        persist_state="session",
    )
    return query, direction == "to"


def chosen_query(kept: Kept, group: int, key: str) -> int:
    """The query that was chosen; another stage of the same picture opens at the same place."""
    positions = kept.run.prepared.groups[group].queries[0]
    state, given = st.session_state, kept.wanted.given
    if state.get(f"{key}_query_of") != (given, group, len(positions)):
        picture, place = state.get(f"{key}_place", (given, MIDDLE))
        state[f"{key}_query_of"] = (given, group, len(positions))
        state[f"{key}_query"] = first_query(positions, place if picture == given else MIDDLE)
    query = min(state[f"{key}_query"], len(positions) - 1)
    if positions[query].patch is not None:
        state[f"{key}_place"] = (given, place_of(positions, query))
    return query


def first_query(positions: tuple[Position, ...], place: tuple[float, float]) -> int:
    """CLS or the pool's query, or the patch at a place of the picture where all are patches."""
    if positions[0].patch is None:
        return 0
    rows, columns = (side + 1 for side in positions[-1].patch)
    return int(place[0] * rows) * columns + int(place[1] * columns)


def place_of(positions: tuple[Position, ...], query: int) -> tuple[float, float]:
    """The middle of a patch, as shares of the height and width that the model saw."""
    sides = zip(positions[query].patch, positions[-1].patch, strict=True)
    down, across = ((index + 0.5) / (last + 1) for index, last in sides)
    return down, across


def take_query(kept: Kept, group: int, key: str) -> None:
    """Make the clicked patch the query, where patches look."""
    clicked = canvas.query_of(st.session_state[f"{key}_canvas"].query)
    for index, position in enumerate(kept.run.prepared.groups[group].queries[0]):
        if clicked is not None and position.patch == tuple(clicked):
            st.session_state[f"{key}_query"] = index


def take_head(key: str) -> None:
    """Remember the chosen head for downloads; the browser has drawn it already."""
    clicked = canvas.head_of(st.session_state[f"{key}_canvas"].head)
    if clicked is not None:
        st.session_state[f"{key}_head"] = clicked


def start_head(kept: Kept, group: int, key: str) -> Head:
    """The head that a new run opens at. The browser keeps what is chosen after that by itself:
    were it part of the data, each choice would send the picture again.
    """
    state, of = st.session_state, (kept.wanted, group)
    if state.get(f"{key}_started", (None, None))[0] != of:
        state[f"{key}_started"] = (of, head_of(kept, group, key))
    return state[f"{key}_started"][1]


def head_of(kept: Kept, group: int, key: str) -> Head:
    """The chosen head; the last layer's first head before one is chosen, or where it is missing."""
    calls = [kept.run.trace.calls[index] for index in kept.run.prepared.groups[group].calls]
    head = st.session_state.get(f"{key}_head", Head(len(calls) - 1, 0))
    if head.layer >= len(calls) or head.head >= calls[head.layer].heads:
        return Head(len(calls) - 1, 0)
    return head


def offer(kept: Kept, picture: Picture, query: Query, key: str) -> None:
    """The chosen head to take away: the row on the picture, or the whole map in numbers."""
    head = head_of(kept, query.group, key)
    choice = Choice(query.group, head.layer, head.head)
    palette = st.session_state["shared_palette"]

    def row() -> LabelledMap:
        return labelled(kept, query, picture.name, key)

    def page() -> str:
        about = row().about
        shown = photo(picture, geometry)
        scene = patches_scene(
            kept.run, shown, query.position, head, looked_at=query.looked_at, group=query.group,
            name="page", style=OFFLINE_STYLE,
        )  # fmt: skip
        return offline_html(about.line(), scene, about.lines())

    group = kept.run.prepared.groups[query.group]
    geometry = kept.run.prepared.geometry.of_group(group)
    patch = group.queries[0][query.position].patch
    files = {
        "PNG": ("png", "image/png", lambda: overlay_png(picture, geometry, row(), palette, patch)),
        "HTML": ("html", "text/html", page),
        "NPZ": (
            "npz",
            "application/zip",
            lambda: export.to_npz(head_view.labelled(kept.run, choice, picture.name)),
        ),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(row())),
    }
    several = len(kept.run.prepared.groups) > 1
    kind = f"-{group.name.partition(' (')[0].replace(' ', '-')}" if several else ""
    downloads.buttons(files, f"{kept.wanted.model}{kind}-layer{head.layer}-head{head.head}", key)
