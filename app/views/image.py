"""Image page: which patches does each head look at?"""

import streamlit as st

from app.components import costs, gallery, page, patches, pickers, progress, sidebar
from app.services import runs
from app.services.runs import Kept
from app.words import plain, say
from core.attention import MECHANISMS


def size(kept: Kept) -> str:
    """The grid of patches and the tokens before it, in words."""
    geometry = kept.run.prepared.geometry
    prefix = "".join(f" + {name}" for name in geometry.prefix)
    return say("image_size", rows=geometry.grid[0], columns=geometry.grid[1], prefix=prefix)


def tell_about(kept: Kept) -> None:
    """Notes of the preparation, and the labels where the model gives some."""
    mechanism = kept.run.mechanism
    if mechanism and MECHANISMS[mechanism].spatial and kept.run.prepared.geometry.prefix:
        st.caption(say("image_windows"))
    for note in kept.run.prepared.notes:
        st.caption(plain(note))
    if kept.run.output.predictions:
        labels = " · ".join(
            f"{p.label} {p.probability:.2f}" for p in kept.run.output.predictions[0]
        )
        st.caption(say("image_labels", labels=plain(labels)))


cost_slot, work_slot = page.header(say("image_title"))
source, settings = st.columns([3, 1])
with source:
    gallery.add("image")
    shown = gallery.pick("image")
with settings, st.form("image_form", border=False):
    model = pickers.model_picker("vision", "image")
    if st.form_submit_button(say("run"), type="primary", key="image_run", width="stretch"):
        progress.start_again("image")
wanted = sidebar.wanted(model, shown.key)
costs.leave(wanted, "image")
kept = progress.attempt(wanted, runs.run_work(shown.picture), work_slot, "image")
if kept is not None:
    stale = kept.wanted != wanted
    if not stale:
        st.session_state["image_shown"] = shown.picture
    tell_about(kept)
    patches.show(kept, st.session_state["image_shown"], stale, "image")
    if not stale:
        costs.show(kept, size(kept), cost_slot, "image")
