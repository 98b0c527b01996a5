"""Patches: a picture with every head's weights for one query."""

import pandas as pd
import streamlit as st

from app.components import canvas, sidebar
from app.components.patches.downloads import of_patches
from app.components.patches.panel import PatchPanel, chosen_head, chosen_query
from app.components.state import state_of
from app.services import pictures
from app.services.pictures import PhotoSource, PictureRef
from app.services.runs import RunResult
from app.words import say
from core.maps.head_view import Choice
from core.picture.canvas.scene import OFFLINE_STYLE, patches_scene
from core.picture.canvas.views import Head
from core.types import Group


@st.fragment
def show(result: RunResult, picture: PictureRef, stale: bool, page: str) -> None:
    """Choose a query and a head; both redraw this part only and run no model."""
    group = group_picker(result, page)
    query = chosen_query(result, group, page)
    looked_at = query_picker(result.run.prepared.groups[group], query, page)
    choice = Choice(group, *chosen_head(result, group, page))
    panel = PatchPanel(result, picture, choice, query, looked_at, page)
    draw(panel, stale)
    if st.toggle(say("image_table"), key=f"{page}_table", help=say("image_table_help")):
        table(panel)
    of_patches(panel)


def draw(panel: PatchPanel, stale: bool) -> None:
    """The picture with all heads; a click chooses a patch or a head."""
    request, run, choice = panel.result.request, panel.result.run, panel.choice
    source = PhotoSource(panel.picture.picture, run.prepared.geometry)
    photo = pictures.photos().get(f"{request.model} {request.input}", source)
    style = sidebar.canvas_style(stale=stale)
    if panel.group.queries != panel.group.keys:  # a pool: there is no other query to click
        style = style._replace(words={**style.words, **OFFLINE_STYLE.words})
    initial_head = state_of(panel.page).patches.initial_head
    scene = patches_scene(
        run,
        photo._replace(grid=panel.geometry.grid),  # one picture, many grids
        panel.query,
        initial_head.of((request, choice.group), Head(choice.layer, choice.head)),
        looked_at=panel.looked_at,
        group=choice.group,
        name=f"{request.name}-{choice.group}",
        style=style,
    )
    canvas.patches(
        scene,
        key=f"{panel.page}_canvas",
        on_query_change=lambda: take_query(panel),
        on_head_change=lambda: take_head(panel.page),
    )


def group_picker(result: RunResult, page: str) -> int:
    """Which attention is looked at: among the patches or the pool at the end; a stage of a Swin."""
    groups = result.run.prepared.groups
    if len(groups) == 1:
        return 0
    in_windows = result.run.trace.calls[groups[0].calls[0]].windows is not None
    return st.segmented_control(
        say("image_stage" if in_windows else "text_kind"),
        range(len(groups)),
        format_func=lambda index: groups[index].name,
        # The end makes the embedding: the pool's query, or the stage whose windows see most.
        default=len(groups) - 1,
        required=True,
        wrap=True,
        # By its choices: another model's groups are no choice here.
        key=f"{page}_group_of_{len(groups)}",
        help=say("image_stage_help") if in_windows else None,
    )


def table(panel: PatchPanel) -> None:
    """The numbers of the chosen head for this query, to sort and to hear."""
    row = panel.labelled("")
    names = row.rows if panel.looked_at else row.columns
    data = pd.DataFrame({say("image_position"): names, say("table_weight"): row.weights.ravel()})
    st.dataframe(data.sort_values(say("table_weight"), ascending=False), hide_index=True)


def query_picker(group: Group, query: int, page: str) -> bool:
    """Choose a position by its name, and whether it is looked at, which is returned."""
    state, positions = st.session_state, group.queries[0]
    special = [index for index, position in enumerate(positions) if position.special]
    choices = special if query in special else [*special, query]
    state[f"{page}_named"] = query

    def take_named() -> None:
        state_of(page).patches.query = state[f"{page}_named"]

    left, right = st.columns([57, 43])
    left.segmented_control(
        say("image_query"),
        choices,
        format_func=lambda index: positions[index].label,
        wrap=True,
        key=f"{page}_named",
        on_change=take_named,
        required=True,
        help=say("image_query_help"),
    )
    if positions != group.keys[0]:
        return False  # a pool looks, and nothing looks at it
    direction = right.segmented_control(
        say("image_direction"),
        ["from", "to"],
        format_func=lambda way: say(f"image_{way}"),
        default="from",
        required=True,
        wrap=True,
        key=f"{page}_direction",
        persist_state="session",
    )
    return direction == "to"


def take_query(panel: PatchPanel) -> None:
    """Make the clicked patch the query, where patches look."""
    clicked = canvas.query_of(st.session_state[f"{panel.page}_canvas"].query)
    for index, position in enumerate(panel.group.queries[0]):
        if clicked is not None and position.patch == tuple(clicked):
            state_of(panel.page).patches.query = index


def take_head(page: str) -> None:
    """Remember the chosen head for downloads; the browser has drawn it already."""
    clicked = canvas.head_of(st.session_state[f"{page}_canvas"].head)
    if clicked is not None:
        state_of(page).patches.head = clicked
