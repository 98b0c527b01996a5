"""Mosaics: all heads of a run as thumbnails; a click chooses a head."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import canvas, progress
from app.components.head_panel import HeadPanel
from app.components.state import state_of
from app.services import loaders, runs
from app.services.runs import RunResult
from app.words import say
from core.maps import head_view
from core.maps.head_view import Choice
from core.picture.canvas.scene import mosaic_scene
from core.picture.canvas.views import Head

DEEP = 14  # layers beyond which the mosaic scrolls by itself


def show(panel: HeadPanel) -> None:
    """All heads as thumbnails; those of a long text are drawn by `draw_long`."""
    result, choice, page = panel.result, panel.choice, panel.page
    long = head_view.is_long(result.run, choice)
    if long:
        choice = replace(
            choice, hide_special=False, by_word=False, leave_first=False
        )  # as the large map says
    request = runs.mosaic_request(result, choice)
    if long and runs.mosaics().find(request) is None:
        cancelled = panel.state.drawing_cancelled == result.request
        st.caption(say("undrawn" if cancelled else "drawing_later"))
        return
    with progress.progress(result.request.model, st.empty(), f"{page}_draw") as callbacks:
        mosaic = runs.mosaics().get(request, result, callbacks)
    scene = mosaic_scene(mosaic, Head(0, 0), run=panel.name, style=panel.style)
    deep = len(mosaic) > DEEP
    with st.container(height=640 if deep else "content", border=False):
        canvas.mosaic(scene, key=f"{page}_mosaic", on_head_change=lambda: choose(page))


def draw_long(result: RunResult, item: int, slot: DeltaGenerator, page: str) -> None:
    """Draw all heads of a long text, with a bar and a Cancel, and show the page again.

    Not inside the fragment: Streamlit lets nothing that is clicked in a fragment end its page.
    """
    choices = [Choice(group=group, item=item) for group in range(len(result.run.prepared.groups))]
    long = [choice for choice in choices if head_view.is_long(result.run, choice)]
    requests = [runs.mosaic_request(result, choice) for choice in long]
    missing = [request for request in requests if runs.mosaics().find(request) is None]
    state = state_of(page)
    if not missing or state.drawing_cancelled == result.request:
        return

    def cancel() -> None:
        state.drawing_cancelled = result.request

    with progress.progress(result.request.model, slot, f"{page}_long", cancel) as callbacks:
        for request in missing:
            with loaders.turns().turn(callbacks.on_wait):
                runs.mosaics().get(request, result, callbacks)
    st.rerun()


def choose(page: str) -> None:
    """Take over the head that was clicked in the mosaic."""
    clicked = canvas.head_of(st.session_state[f"{page}_mosaic"].head)
    if clicked is not None:
        st.session_state[f"{page}_layer"], st.session_state[f"{page}_head"] = clicked
