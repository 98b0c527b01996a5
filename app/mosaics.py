"""Mosaics: all heads of a run as thumbnails; a click chooses a head."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import loaders, shared
from app.components import attention_canvas as canvas
from app.loaders import Kept
from app.words import say
from core import reading
from core.picture.scene import mosaic_scene
from core.picture.views import Head, Look
from core.reading import Choice

DEEP = 14  # layers beyond which the mosaic scrolls by itself


def show(kept: Kept, choice: Choice, name: str, look: Look, key: str) -> None:
    """All heads as thumbnails; those of a long text are drawn by `draw_long`."""
    if reading.is_long(kept.run, choice):
        choice = replace(choice, hide_special=False, by_word=False)  # as the large map says
        if loaders.mosaic_of(kept, choice) is None:
            undrawn = st.session_state.get(f"{key}_undrawn") == kept.wanted
            st.caption(say("undrawn" if undrawn else "drawing_later"))
            return
    with shared.progress(kept.wanted.model, st.empty(), f"{key}_draw") as (tell, _):
        mosaic = loaders.mosaic_for(kept, choice, tell)
    scene = mosaic_scene(mosaic, Head(0, 0), run=name, look=look)
    deep = len(mosaic) > DEEP
    with st.container(height=640 if deep else "content", border=False):
        canvas.mosaic(scene, key=f"{key}_mosaic", on_head_change=lambda: choose(key))


def draw_long(kept: Kept, item: int, slot: DeltaGenerator, key: str) -> None:
    """Draw all heads of a long text, with a bar and a Cancel, and show the page again.

    Not inside the fragment: Streamlit lets nothing that is clicked in a fragment end its page.
    """
    choices = [Choice(group=group, item=item) for group in range(len(kept.run.prepared.groups))]
    long = [choice for choice in choices if reading.is_long(kept.run, choice)]
    missing = [choice for choice in long if loaders.mosaic_of(kept, choice) is None]
    state = st.session_state
    if not missing or state.get(f"{key}_undrawn") == kept.wanted:
        return

    def cancel() -> None:
        state[f"{key}_undrawn"] = kept.wanted

    with shared.progress(kept.wanted.model, slot, f"{key}_long", cancel) as (tell, wait):
        for choice in missing:
            with loaders.turns().turn(wait):
                loaders.mosaic_for(kept, choice, tell)
    st.rerun()


def choose(key: str) -> None:
    """Take over the head that was clicked in the mosaic."""
    clicked = canvas.head_of(st.session_state[f"{key}_mosaic"].head)
    if clicked is not None:
        st.session_state[f"{key}_layer"], st.session_state[f"{key}_head"] = clicked
