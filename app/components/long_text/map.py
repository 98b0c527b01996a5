"""Long maps: which region of a long text is looked at, how it is pooled, and its zooming canvas."""

from dataclasses import replace

import streamlit as st

from app.components import canvas
from app.components.pickers import chooser
from app.services import runs
from app.services.runs import Kept
from core.maps import long_rows
from core.maps.head_view import Choice, HeadView
from core.maps.regions import Region
from core.picture.canvas.scene import head_scene
from core.picture.canvas.views import CanvasStyle


def settings(kept: Kept, choice: Choice, key: str) -> Choice:
    """The choice with the pooling and the region that the visitor looks at.

    Another head keeps the region and the token that looks; another text starts again.
    """
    state = st.session_state
    text = (kept.wanted.model, kept.wanted.given, choice.item, choice.group)
    if state.get(f"{key}_long") != text:
        state[f"{key}_long"], state[f"{key}_region"] = text, None
        state[f"{key}_token"] = len(_queries(kept, choice)) - 1  # of a decoder, it saw all others
    reduce = chooser("long_pooling", ("max", "mean"), f"{key}_pooling", "long_pooling_")
    return replace(choice, reduce=reduce, region=state[f"{key}_region"])


def show(
    kept: Kept,
    choice: Choice,
    view: HeadView,
    name: str,
    *,
    form: str,
    style: CanvasStyle,
    key: str,
) -> None:
    """The region as map or arcs; a click asks for a row, a zoom for another region."""
    mosaic = runs.mosaic_of(kept, choice)
    scene = head_scene(
        view,
        choice,
        run=name,
        form=form,
        query=_first_token(name, form, key),
        zoom=True,
        overview=None if mosaic is None else mosaic[choice.layer, choice.head],
        style=style,
    )
    canvas.head_map(
        scene,
        key=f"{key}_long_map",
        on_row_change=lambda: _keep_cell(kept, choice, key),
        on_region_change=lambda: _keep_region(view, key),
    )


def _first_token(name: str, form: str, key: str) -> int | None:
    """The token when the map came first: the excerpt tells the browser of every later one.

    Were each one part of the data, the map would come again with every click.
    """
    state = st.session_state
    if state.get(f"{key}_token_start", (None, None))[0] != (name, form):
        state[f"{key}_token_start"] = ((name, form), state.get(f"{key}_token"))
    return state[f"{key}_token_start"][1]


def _keep_cell(kept: Kept, choice: Choice, key: str) -> None:
    """The token whose weight a clicked cell shows is the one that looks."""
    cell = canvas.cell_of(st.session_state[f"{key}_long_map"].row)
    if cell is None:
        st.session_state[f"{key}_token"] = None
        return
    alone = cell.sides[0] == 1
    token = cell.q[0] if alone else long_rows.strongest_query(kept.run, choice, cell)
    st.session_state[f"{key}_token"] = token


def _keep_region(view: HeadView, key: str) -> None:
    """Look at the wanted region; all of the map is no region of it."""
    wanted = canvas.region_of(st.session_state[f"{key}_long_map"].region)
    of = view.shown.of
    inside = all(0 <= start < stop <= n for (start, stop), n in zip(wanted, of, strict=True))
    whole = wanted == Region((0, of[0]), (0, of[1]))
    st.session_state[f"{key}_region"] = wanted if inside and not whole else None


def _queries(kept: Kept, choice: Choice) -> tuple:
    return kept.run.prepared.groups[choice.group].queries[choice.item]
