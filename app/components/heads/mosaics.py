"""Mosaics: all heads of a run as thumbnails; a click chooses a head."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import canvas, progress
from app.services import runs
from app.services.runs import Kept
from app.words import say
from core.maps import head_view
from core.maps.head_view import Choice
from core.picture.canvas.scene import mosaic_scene
from core.picture.canvas.views import CanvasStyle, Head

DEEP = 14  # layers beyond which the mosaic scrolls by itself


def show(kept: Kept, choice: Choice, name: str, style: CanvasStyle, key: str) -> None:
    """All heads as thumbnails; those of a long text are drawn by `draw_long`."""
    if head_view.is_long(kept.run, choice):
        choice = replace(choice, hide_special=False, by_word=False)  # as the large map says
        if runs.mosaic_of(kept, choice) is None:
            undrawn = st.session_state.get(f"{key}_undrawn") == kept.wanted
            st.caption(say("undrawn" if undrawn else "drawing_later"))
            return
    with progress.progress(kept.wanted.model, st.empty(), f"{key}_draw") as (tell, _):
        mosaic = runs.mosaic_for(kept, choice, tell)
    scene = mosaic_scene(mosaic, Head(0, 0), run=name, style=style)
    deep = len(mosaic) > DEEP
    with st.container(height=640 if deep else "content", border=False):
        canvas.mosaic(scene, key=f"{key}_mosaic", on_head_change=lambda: choose(key))


def draw_long(kept: Kept, item: int, slot: DeltaGenerator, key: str) -> None:
    """Draw all heads of a long text, with a bar and a Cancel, and show the page again.

    Not inside the fragment: Streamlit lets nothing that is clicked in a fragment end its page.
    """
    choices = [Choice(group=group, item=item) for group in range(len(kept.run.prepared.groups))]
    long = [choice for choice in choices if head_view.is_long(kept.run, choice)]
    missing = [choice for choice in long if runs.mosaic_of(kept, choice) is None]
    state = st.session_state
    if not missing or state.get(f"{key}_undrawn") == kept.wanted:
        return

    def cancel() -> None:
        state[f"{key}_undrawn"] = kept.wanted

    with progress.progress(kept.wanted.model, slot, f"{key}_long", cancel) as (tell, wait):
        for choice in missing:
            with runs.turns().turn(wait):
                runs.mosaic_for(kept, choice, tell)
    st.rerun()


def choose(key: str) -> None:
    """Take over the head that was clicked in the mosaic."""
    clicked = canvas.head_of(st.session_state[f"{key}_mosaic"].head)
    if clicked is not None:
        st.session_state[f"{key}_layer"], st.session_state[f"{key}_head"] = clicked
