"""Patches: a picture with every head's weights for one query, and its downloads."""

import pandas as pd
import streamlit as st

from app import downloads, loaders, shared
from app.components import attention_canvas as canvas
from app.loaders import Kept
from app.words import say
from core import reading
from core.models.images import Picture
from core.picture import export
from core.picture.html import offline_html
from core.picture.overlay import overlay_png
from core.picture.scene import OFFLINE_LOOK, patches_scene, photo
from core.picture.views import Head
from core.reading import Choice


@st.fragment
def show(kept: Kept, picture: Picture, stale: bool, key: str) -> None:
    """Choose a query and a head; both redraw this part only and run no model."""
    query, looked_at = controls(kept, key)
    what = f"{kept.wanted.model} {kept.wanted.given}"
    shown = loaders.photo_of(what, picture, kept.run.prepared.geometry)
    scene = patches_scene(
        kept.run,
        shown,
        query,
        start_head(kept, key),
        looked_at=looked_at,
        name=kept.wanted.name,
        look=shared.look(stale=stale),
    )
    canvas.patches(
        scene,
        key=f"{key}_canvas",
        on_query_change=lambda: take_query(kept, key),
        on_head_change=lambda: take_head(key),
    )
    if st.toggle(say("image_table"), key=f"{key}_table", help=say("image_table_help")):
        table(kept, query, looked_at, key)
    offer(kept, picture, query, looked_at, key)


def table(kept: Kept, query: int, looked_at: bool, key: str) -> None:
    """The numbers of the chosen head for this query, to sort and to hear."""
    head = head_of(kept, key)
    choice = Choice(layer=head.layer, head=head.head)
    row = reading.labelled_query(kept.run, choice, query, "", looked_at=looked_at)
    names = row.rows if looked_at else row.columns
    data = pd.DataFrame({say("image_position"): names, say("table_weight"): row.weights.ravel()})
    st.dataframe(data.sort_values(say("table_weight"), ascending=False), hide_index=True)


def controls(kept: Kept, key: str) -> tuple[int, bool]:
    """The position that looks, or is looked at."""
    positions = kept.run.prepared.groups[0].queries[0]
    state = st.session_state
    if state.get(f"{key}_query_of") != kept.wanted.given:
        state[f"{key}_query_of"] = kept.wanted.given
        state[f"{key}_query"] = first_query(kept)
    query = min(state[f"{key}_query"], len(positions) - 1)
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


def first_query(kept: Kept) -> int:
    """CLS, or the patch in the middle where there is no token before the patches."""
    geometry = kept.run.prepared.geometry
    if geometry.prefix:
        return 0
    return geometry.token(geometry.grid[0] // 2, geometry.grid[1] // 2)


def take_query(kept: Kept, key: str) -> None:
    """Make the clicked patch the query."""
    clicked = canvas.query_of(st.session_state[f"{key}_canvas"].query)
    if clicked is not None:
        geometry = kept.run.prepared.geometry
        st.session_state[f"{key}_query"] = geometry.token(clicked.row, clicked.column)


def take_head(key: str) -> None:
    """Remember the chosen head for downloads; the browser has drawn it already."""
    clicked = canvas.head_of(st.session_state[f"{key}_canvas"].head)
    if clicked is not None:
        st.session_state[f"{key}_head"] = clicked


def start_head(kept: Kept, key: str) -> Head:
    """The head that a new run opens at. The browser keeps what is chosen after that by itself:
    were it part of the data, each choice would send the picture again.
    """
    state = st.session_state
    if state.get(f"{key}_started", (None, None))[0] != kept.wanted:
        state[f"{key}_started"] = (kept.wanted, head_of(kept, key))
    return state[f"{key}_started"][1]


def head_of(kept: Kept, key: str) -> Head:
    """The chosen head; the last layer's first head before one is chosen, or where it is missing."""
    calls = [kept.run.trace.calls[index] for index in kept.run.prepared.groups[0].calls]
    head = st.session_state.get(f"{key}_head", Head(len(calls) - 1, 0))
    if head.layer >= len(calls) or head.head >= calls[head.layer].heads:
        return Head(len(calls) - 1, 0)
    return head


def offer(kept: Kept, picture: Picture, query: int, looked_at: bool, key: str) -> None:
    """The chosen head to take away: the row on the picture, or the whole map in numbers."""
    head = head_of(kept, key)
    choice = Choice(layer=head.layer, head=head.head)
    palette = st.session_state["shared_palette"]

    def row() -> export.LabelledMap:
        return reading.labelled_query(kept.run, choice, query, picture.name, looked_at=looked_at)

    def page() -> str:
        about = row().about
        shown = photo(picture, kept.run.prepared.geometry)
        scene = patches_scene(
            kept.run, shown, query, head, looked_at=looked_at, name="page", look=OFFLINE_LOOK
        )
        return offline_html(about.line(), scene, about.lines())

    geometry = kept.run.prepared.geometry
    patch = geometry.positions()[query].patch
    files = {
        "PNG": ("png", "image/png", lambda: overlay_png(picture, geometry, row(), palette, patch)),
        "HTML": ("html", "text/html", page),
        "NPZ": (
            "npz",
            "application/zip",
            lambda: export.to_npz(reading.labelled(kept.run, choice, picture.name)),
        ),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(row())),
    }
    downloads.buttons(files, f"{kept.wanted.model}-layer{head.layer}-head{head.head}", key)
