"""Long maps: which region of a long text is looked at, how it is pooled, and its zooming canvas."""

from dataclasses import replace

import streamlit as st

from app.components import canvas
from app.components.head_panel import HeadPanel
from app.components.pickers import chooser
from app.components.state import state_of
from app.services import runs
from app.services.runs import RunResult
from core.maps import long_rows
from core.maps.head_view import Choice
from core.maps.regions import Region
from core.picture.canvas.scene import head_scene


def settings(result: RunResult, choice: Choice, page: str) -> Choice:
    """The choice with the pooling and the region that the visitor looks at.

    Another head keeps the region and the token that looks; another text starts again.
    """
    state = state_of(page).long_text
    text = (result.request.model, result.request.input_name, choice.item, choice.group)
    if state.text != text:
        state.text, state.region = text, None
        queries = result.run.prepared.groups[choice.group].queries[choice.item]
        st.session_state[f"{page}_token"] = len(queries) - 1  # of a decoder, it saw all others
    reduce = chooser("long_pooling", ("max", "mean"), f"{page}_pooling", "long_pooling_")
    return replace(choice, reduce=reduce, region=state.region)


def show(panel: HeadPanel, form: str) -> None:
    """The region as map or arcs; a click asks for a row, a zoom for another region."""
    choice, page = panel.choice, panel.page
    mosaic = runs.mosaics().find(runs.mosaic_request(panel.result, choice))
    token = st.session_state.get(f"{page}_token")
    scene = head_scene(
        panel.view,
        choice,
        run=panel.name,
        form=form,
        # The excerpt tells the browser of every later token.
        query=panel.state.long_text.initial_token.of((panel.name, form), token),
        scale=panel.state.heads.initial_scale.of((panel.name, form), panel.state.heads.scale),
        zoom=True,
        overview=None if mosaic is None else mosaic[choice.layer, choice.head],
        style=panel.style,
    )
    canvas.head_map(
        scene,
        key=f"{page}_long_map",
        on_row_change=lambda: _take_cell(panel),
        on_region_change=lambda: _take_region(panel),
        on_scale_change=lambda: panel.remember_scale(f"{page}_long_map"),
    )


def _take_cell(panel: HeadPanel) -> None:
    """The token whose weight a clicked cell shows is the one that looks."""
    state, page = st.session_state, panel.page
    cell = canvas.cell_of(state[f"{page}_long_map"].row)
    if cell is None:
        state[f"{page}_token"] = None
    elif cell.sides[0] == 1:
        state[f"{page}_token"] = cell.q[0]
    else:
        token = long_rows.strongest_query(panel.result.run, panel.choice, cell)
        state[f"{page}_token"] = token


def _take_region(panel: HeadPanel) -> None:
    """Look at the region that was asked for; all of the map is no region of it."""
    region = canvas.region_of(st.session_state[f"{panel.page}_long_map"].region)
    sides = panel.view.shown.of
    inside = all(0 <= start < stop <= n for (start, stop), n in zip(region, sides, strict=True))
    everything = region == Region((0, sides[0]), (0, sides[1]))
    panel.state.long_text.region = region if inside and not everything else None
