"""Image page: which patches does each head look at?"""

import streamlit as st

from app.components import costs, gallery, page, pickers, progress, sidebar
from app.components.patches import patches
from app.components.state import state_of
from app.services import runs
from app.services.runs import RunResult
from app.words import plain, say
from core.attention import MECHANISMS


def size(result: RunResult) -> str:
    """The grid of patches and the tokens before it, in words."""
    geometry = result.run.prepared.geometry
    prefix = "".join(f" + {name}" for name in geometry.prefix)
    return say("image_size", rows=geometry.grid[0], columns=geometry.grid[1], prefix=prefix)


def facts(result: RunResult) -> None:
    """Notes of the preparation, and the labels where the model gives some."""
    mechanism = result.run.mechanism
    if mechanism and MECHANISMS[mechanism].spatial and result.run.prepared.geometry.prefix:
        st.caption(say("image_windows"))
    for note in result.run.prepared.notes:
        st.caption(plain(note))
    if result.run.output.predictions:
        labels = " · ".join(
            f"{p.label} {p.probability:.2f}" for p in result.run.output.predictions[0]
        )
        st.caption(say("image_labels", labels=plain(labels)))


cost_slot, work_slot = page.header(say("image_title"), "image")
with st.container(key="given"):
    source, settings = st.columns([3, 1])
with source:
    gallery.show("image")
    picture = gallery.pick("image")
with settings, st.form("image_form", border=False):
    model = pickers.model_picker("vision", "image")
    if st.form_submit_button(say("run"), type="primary", key="image_run", width="stretch"):
        progress.start_again("image")
request, state = sidebar.run_request(model, picture.key), state_of("image")
costs.leave(request, "image")
result = progress.attempt(request, runs.runs(), picture, work_slot, "image")
if result is not None:
    stale = result.request != request
    if not stale:
        state.pictures = (picture,)
    facts(result)
    patches.show(result, state.pictures[0], stale, "image")
    if not stale:
        costs.show(result, size(result), cost_slot, "image")
