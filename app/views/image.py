"""Image page: which patches does each head look at?"""

import streamlit as st

from app import costs, gallery, loaders, patches, picture_loaders, shared
from app.loaders import Kept
from app.picture_loaders import Shown
from app.words import say
from core.models.images import SAMPLES

SAMPLE = "sample/"  # no file's name holds a slash, so a sample and an upload never meet


def pick(pictures: dict[str, Shown]) -> Shown:
    """The picture to look at: the newest of the visitor's, or a sample."""
    names, state = [*pictures, *(SAMPLE + name for name in SAMPLES)], st.session_state
    if state.get("image_newest") != gallery.newest():
        state["image_newest"] = state["image_pick"] = gallery.newest()
    if state.get("image_pick") not in names:
        state["image_pick"] = names[max(0, len(pictures) - 1)]
    name = st.pills(
        say("image_pick"),
        names,
        format_func=lambda name: SAMPLES.get(name.removeprefix(SAMPLE), shared.plain(name)),
        wrap=True,
        key="image_pick",
        persist_state="session",
        required=True,
        label_visibility="collapsed",
    )
    if name in pictures:
        return pictures[name]
    return picture_loaders.sample(name.removeprefix(SAMPLE))


def size(kept: Kept) -> str:
    """The grid of patches and the tokens before it, in words."""
    geometry = kept.run.prepared.geometry
    prefix = "".join(f" + {name}" for name in geometry.prefix)
    return say("image_size", rows=geometry.grid[0], columns=geometry.grid[1], prefix=prefix)


def tell_about(kept: Kept) -> None:
    """Notes of the preparation, and the labels where the model gives some."""
    for note in kept.run.prepared.notes:
        st.caption(shared.plain(note))
    if kept.run.output.predictions:
        labels = " · ".join(
            f"{p.label} {p.probability:.2f}" for p in kept.run.output.predictions[0]
        )
        st.caption(say("image_labels", labels=shared.plain(labels)))


cost_slot, work_slot = shared.header(say("image_title"))
source, settings = st.columns([3, 1])
with source:
    gallery.add("image")
    shown = pick(gallery.opened("image"))
with settings, st.form("image_form", border=False):
    model = shared.model_picker("vision", "image")
    if st.form_submit_button(say("run"), type="primary", key="image_run", width="stretch"):
        shared.start_again("image")
wanted = shared.wanted(model, shown.key)
costs.leave(wanted, "image")
kept = shared.attempt(wanted, loaders.run_work(shown.picture), work_slot, "image")
if kept is not None:
    stale = kept.wanted != wanted
    if not stale:
        st.session_state["image_shown"] = shown.picture
    tell_about(kept)
    patches.show(kept, st.session_state["image_shown"], stale, "image")
    if not stale:
        costs.show(kept, size(kept), cost_slot, "image")
