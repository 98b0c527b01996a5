"""Image page: which patches does each head look at?"""

import hashlib

import streamlit as st

from app import costs, loaders, patches, shared
from app.components.paste import pasted_picture
from app.loaders import Kept
from app.words import say
from core.errors import InputError
from core.models.images import SAMPLES, Picture, sample_picture


def files() -> dict[str, bytes]:
    """Pictures that the visitor gave in this session, by name: uploaded, photographed, pasted."""
    state = st.session_state
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.popover(say("image_add"), icon=":material/add_photo_alternate:")
        # Outside of the popover: it listens for Ctrl+V on the whole page.
        pasted = pasted_picture("image_paste")
    with place:
        uploaded = st.file_uploader(
            say("image_upload"),
            accept_multiple_files=True,
            key="image_upload",
            help=say("image_upload_help"),
        )
        camera = st.toggle(say("image_camera"), key="image_camera_on")
        photo = st.camera_input(say("image_camera"), key="image_camera") if camera else None
    given = {file.name: file.getvalue() for file in uploaded}
    if photo is not None:
        given["camera.jpg"] = photo.getvalue()
    if pasted is not None:
        state["image_pasted"] = pasted
    if "image_pasted" in state:
        given["pasted.png"] = state["image_pasted"]
    return given


def opened(given: dict[str, bytes]) -> dict[str, Picture]:
    """The pictures that can be shown; one sentence for each that cannot."""
    pictures = {}
    for name, data in given.items():
        try:
            pictures[name] = loaders.picture_of(data, name)
        except InputError as error:
            st.warning(shared.plain(error))
    return pictures


def pick(pictures: dict[str, Picture]) -> Picture:
    """The picture to look at: the newest of the visitor's, or a sample."""
    names = [*pictures, *SAMPLES]
    newest = next(reversed(pictures), None)
    # A new picture is what the visitor wants to see; after that the choice is theirs.
    if newest != st.session_state.get("image_newest"):
        st.session_state["image_newest"] = newest
        st.session_state["image_pick"] = newest or names[0]
    if st.session_state.get("image_pick") not in names:
        st.session_state["image_pick"] = names[0]
    name = st.pills(
        say("image_pick"),
        names,
        format_func=lambda name: SAMPLES.get(name, shared.plain(name)),
        wrap=True,
        key="image_pick",
        required=True,
    )
    return pictures[name] if name in pictures else sample_picture(name)


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
    picture = pick(opened(files()))
with settings, st.form("image_form", border=False):
    model = shared.model_picker("vision", "image")
    if st.form_submit_button(say("run"), type="primary", key="image_run", width="stretch"):
        st.session_state.pop("image_cancelled", None)
digest = hashlib.sha256(picture.pixels.tobytes()).hexdigest()
wanted = shared.wanted(model, f"{picture.name} {picture.size} {digest}")
kept = shared.attempt(wanted, picture, work_slot, "image")
if kept is not None:
    stale = kept.wanted != wanted
    if not stale:
        st.session_state["image_shown"] = picture
    tell_about(kept)
    patches.show(kept, st.session_state["image_shown"], stale, "image")
    costs.show(kept, size(kept), cost_slot, work_slot, "image")
