"""Image page: which patches does each head look at?"""

import streamlit as st

from app import costs, loaders, patches, shared
from app.components.paste import pasted_picture
from app.loaders import Kept, Shown
from app.words import say
from core.errors import InputError
from core.models.images import SAMPLES, sample_picture

SAMPLE = "sample/"  # no file's name holds a slash, so a sample and an upload never meet


def add_pictures() -> None:
    """Places to give pictures; what was given is kept for the session, also on other pages."""
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.popover(say("image_add"), icon=":material/add_photo_alternate:")
        # Outside of the popover: it listens for Ctrl+V on the whole page.
        pasted = pasted_picture("image_paste")
    with place:
        st.file_uploader(
            say("image_upload"),
            accept_multiple_files=True,
            key="image_upload",
            on_change=take_uploads,
            help=say("image_upload_help"),
        )
        if st.toggle(say("image_camera"), key="image_camera_on"):
            st.camera_input(say("image_camera"), key="image_camera", on_change=take_photo)
        if given():
            st.button(say("image_forget"), key="image_forget", on_click=forget)
    if pasted is not None:
        keep("pasted.png", pasted)


def given() -> dict[str, bytes]:
    """The visitor's own pictures by name, the newest last."""
    return st.session_state.setdefault("image_given", {})


def keep(name: str, data: bytes) -> None:
    """Keep a picture under a name of its own, and look at it."""
    stem, dot, ending = name.rpartition(".")
    number, free = 1, name
    while free in given() and given()[free] != data:
        number += 1
        free = f"{stem} {number}{dot}{ending}" if stem else f"{name} {number}"
    given()[free] = data
    st.session_state["image_pick"] = free


def take_uploads() -> None:
    """Take what the uploader holds, and let go of what was removed from it."""
    state = st.session_state
    files = {file.file_id: file for file in state["image_upload"]}
    before = state.get("image_uploaded", {})
    for gone in set(before) - set(files):
        given().pop(before[gone], None)
    for new in [file_id for file_id in files if file_id not in before]:
        keep(files[new].name, files[new].getvalue())
        before = before | {new: state["image_pick"]}
    state["image_uploaded"] = {file_id: before[file_id] for file_id in files}


def take_photo() -> None:
    """Take the picture of the camera."""
    if st.session_state["image_camera"] is not None:
        keep("camera.jpg", st.session_state["image_camera"].getvalue())


def forget() -> None:
    """Let go of all pictures of the visitor."""
    given().clear()


def opened() -> dict[str, Shown]:
    """The pictures that can be shown; one sentence, once, for each that cannot."""
    pictures = {}
    for name, data in list(given().items()):
        try:
            pictures[name] = loaders.picture_of(data, name)
        except InputError as error:
            st.warning(shared.plain(error))
            del given()[name]
    return pictures


def pick(pictures: dict[str, Shown]) -> Shown:
    """The picture to look at: the newest of the visitor's, or a sample."""
    names = [*pictures, *(SAMPLE + name for name in SAMPLES)]
    if st.session_state.get("image_pick") not in names:
        st.session_state["image_pick"] = names[max(0, len(pictures) - 1)]
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
    return Shown(sample_picture(name.removeprefix(SAMPLE)), name)


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
    add_pictures()
    shown = pick(opened())
with settings, st.form("image_form", border=False):
    model = shared.model_picker("vision", "image")
    if st.form_submit_button(say("run"), type="primary", key="image_run", width="stretch"):
        shared.start_again("image")
wanted = shared.wanted(model, f"{shown.picture.name} {shown.picture.size} {shown.digest}")
costs.leave(wanted, "image")
kept = shared.attempt(wanted, shown.picture, work_slot, "image")
if kept is not None:
    stale = kept.wanted != wanted
    if not stale:
        st.session_state["image_shown"] = shown.picture
    tell_about(kept)
    patches.show(kept, st.session_state["image_shown"], stale, "image")
    if not stale:
        costs.show(kept, size(kept), cost_slot, "image")
