"""Gallery: the visitor's own pictures, given on any page and kept for the session."""

import hashlib
from typing import NamedTuple

import streamlit as st

from app.components import progress
from app.components.paste import pasted_picture
from app.services import pictures as services_pictures
from app.services.pictures import PictureRef
from app.words import plain, say
from core.errors import InputError
from core.models.vision.images import SAMPLES

NAMED = 40  # pictures up to which each can be removed by its name
SAMPLE = "sample/"  # no file's name holds a slash, so a sample and an upload never meet


def add(key: str) -> None:
    """Places to give pictures; what was given is there on every page that reads pictures."""
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.popover(say("image_add"), icon=":material/add_photo_alternate:")
        # Outside of the popover: it listens for Ctrl+V on the whole page.
        pasted = pasted_picture(f"{key}_paste")
    with place:
        files = st.file_uploader(
            say("image_upload"),
            accept_multiple_files=True,
            key=f"{key}_upload",
            on_change=lambda: take_uploads(key),
            help=say("image_upload_help"),
        )
        if not files:  # a visit to another page empties the uploader, not the gallery
            st.session_state[f"{key}_uploaded"] = {}
        if st.toggle(say("image_camera"), key=f"{key}_camera_on"):
            st.camera_input(
                say("image_camera"), key=f"{key}_camera", on_change=lambda: take_photo(key)
            )
        if given():
            if len(given()) <= NAMED:
                st.pills(
                    say("gallery_remove"), list(given()), format_func=plain, wrap=True,
                    key=f"{key}_remove", on_change=lambda: remove(key),
                )  # fmt: skip
            st.button(say("image_forget"), key=f"{key}_forget", on_click=given().clear)
    if pasted is not None:
        keep("pasted.png", pasted)


class Given(NamedTuple):
    """A file of the visitor's; the digest is taken once, as files are large."""

    data: bytes
    digest: str


def given() -> dict[str, Given]:
    """The visitor's own pictures by name, the newest last."""
    return st.session_state.setdefault("gallery_given", {})


def newest() -> str | None:
    """The picture that was given last."""
    return st.session_state.get("gallery_newest")


def keep(name: str, data: bytes) -> str:
    """Keep a picture under a name of its own, which is returned."""
    stem, dot, ending = name.rpartition(".")
    number, free = 1, name
    new = Given(data, hashlib.sha256(data).hexdigest())
    while free in given() and given()[free] != new:
        number += 1
        free = f"{stem} {number}{dot}{ending}" if stem else f"{name} {number}"
    given()[free] = new
    st.session_state["gallery_newest"] = free
    return free


def take_uploads(key: str) -> None:
    """Take what the uploader holds, and let go of what was removed from it."""
    state = st.session_state
    files = {file.file_id: file for file in state[f"{key}_upload"]}
    before = state.get(f"{key}_uploaded", {})
    for gone in set(before) - set(files):
        given().pop(before[gone], None)
    kept = {
        file_id: before.get(file_id) or keep(file.name, file.getvalue())
        for file_id, file in files.items()
    }
    state[f"{key}_uploaded"] = kept


def take_photo(key: str) -> None:
    """Take the picture of the camera."""
    photo = st.session_state[f"{key}_camera"]
    if photo is not None:
        keep("camera.jpg", photo.getvalue())


def remove(key: str) -> None:
    """Let go of the picture whose name was clicked."""
    name, st.session_state[f"{key}_remove"] = st.session_state[f"{key}_remove"], None
    given().pop(name, None)


def opened(key: str) -> dict[str, PictureRef]:
    """The pictures that can be shown; one sentence, once, for each that cannot."""
    pictures, files = {}, list(given().items())
    with progress.progress("", st.empty(), f"{key}_open") as (tell, _):
        for index, (name, file) in enumerate(files):
            if not services_pictures.is_known(file.digest, name):
                tell("opening", index / len(files))
            try:
                pictures[name] = services_pictures.picture_of(*file, name)
            except InputError as error:
                st.warning(plain(error))
                del given()[name]
    return pictures


def pick(key: str) -> PictureRef:
    """One picture to look at: the newest of the visitor's, or a sample, until another is chosen."""
    pictures, state = opened(key), st.session_state
    names = [*pictures, *(SAMPLE + name for name in SAMPLES)]
    if state.get(f"{key}_newest") != newest():
        state[f"{key}_newest"] = state[f"{key}_pick"] = newest()
    if state.get(f"{key}_pick") not in names:
        state[f"{key}_pick"] = names[max(0, len(pictures) - 1)]
    name = st.pills(
        say("image_pick"), names, wrap=True, key=f"{key}_pick", persist_state="session",
        format_func=lambda name: SAMPLES.get(name.removeprefix(SAMPLE), plain(name)),
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    if name in pictures:
        return pictures[name]
    return services_pictures.sample(name.removeprefix(SAMPLE))
