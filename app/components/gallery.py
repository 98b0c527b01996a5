"""Gallery: the visitor's own pictures, there on every page that reads pictures."""

import hashlib
from dataclasses import dataclass, field
from typing import NamedTuple

import streamlit as st

from app.components import progress
from app.components.paste import pasted_picture
from app.components.state import state_of
from app.components.uploads import present
from app.services import pictures as services_pictures
from app.services.pictures import PictureRef
from app.words import plain, say
from core.errors import InputError
from core.models.vision.images import SAMPLES

NOTED = 6  # pictures that cannot be read, by name
NAMED = 40  # pictures up to which each can be removed by its name
SAMPLE = "sample/"  # no file's name holds a slash, so a sample and an upload never meet


class PictureFile(NamedTuple):
    """A file of the visitor's; the digest is taken once, as files are large."""

    data: bytes
    digest: str


@dataclass
class Gallery:
    """The visitor's own pictures by name, the newest last, and the one that came last."""

    files: dict[str, PictureFile] = field(default_factory=dict)
    newest: str | None = None
    refused: dict[str, str] = field(default_factory=dict)  # name -> why it cannot be read


def gallery() -> Gallery:
    """The gallery of this visit."""
    return st.session_state.setdefault("gallery", Gallery())


def show(page: str) -> None:
    """Places to give pictures, and to let go of them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        place = st.popover(say("image_add"), icon=":material/add_photo_alternate:")
        # Outside of the popover: it listens for Ctrl+V on the whole page.
        pasted = pasted_picture(f"{page}_paste")
    own = gallery().files
    with place:
        whole = st.toggle(say("image_folder"), key=f"{page}_folder", help=say("image_folder_help"))
        key = f"{page}_upload_folder" if whole else f"{page}_upload"
        uploads = st.file_uploader(
            say("image_upload"),
            accept_multiple_files="directory" if whole else True,
            key=key,
            on_change=lambda: take_uploads(page, key),
            help=say("image_upload_help"),
        )
        if not uploads:  # a visit to another page empties the uploader, not the gallery
            state_of(page).gallery.uploaded = {}
        if st.toggle(say("image_camera"), key=f"{page}_camera_on"):
            st.camera_input(
                say("image_camera"), key=f"{page}_camera", on_change=lambda: take_photo(page)
            )
        if own:
            if len(own) <= NAMED:
                st.pills(
                    say("gallery_remove"), list(own), format_func=plain, wrap=True,
                    key=f"{page}_remove", on_change=lambda: remove(page),
                )  # fmt: skip
            st.button(say("image_forget"), key=f"{page}_forget", on_click=own.clear)
    if pasted is not None:
        add("pasted.png", pasted)


def add(name: str, data: bytes) -> str:
    """Take a picture under a name of its own, which is returned."""
    stem, dot, ending = name.rpartition(".")
    number, free, files = 1, name, gallery().files
    new = PictureFile(data, hashlib.sha256(data).hexdigest())
    while free in files and files[free] != new:
        number += 1
        free = f"{stem} {number}{dot}{ending}" if stem else f"{name} {number}"
    files[free] = new
    gallery().newest = free
    return free


def take_uploads(page: str, key: str) -> None:
    """Take what the uploader holds, and let go of what was removed from it."""
    state = state_of(page).gallery
    files = map(present, st.session_state[key])
    uploads = {file.file_id: file for file in files if file is not None}
    for gone in set(state.uploaded) - set(uploads):
        gallery().files.pop(state.uploaded[gone], None)
    state.uploaded = {
        file_id: state.uploaded.get(file_id) or add(file.name, file.getvalue())
        for file_id, file in uploads.items()
    }


def take_photo(page: str) -> None:
    """Take the picture of the camera."""
    photo = present(st.session_state[f"{page}_camera"])
    if photo is not None:
        add("camera.jpg", photo.getvalue())


def remove(page: str) -> None:
    """Let go of the picture whose name was clicked."""
    name, st.session_state[f"{page}_remove"] = st.session_state[f"{page}_remove"], None
    gallery().files.pop(name, None)


def opened(page: str) -> dict[str, PictureRef]:
    """The visitor's pictures that can be shown; one sentence, once, for each that cannot."""
    pictures, files = {}, list(gallery().files.items())
    with progress.progress("", st.empty(), f"{page}_open") as callbacks:
        for index, (name, file) in enumerate(files):
            if not services_pictures.is_known(file.digest, name):
                callbacks.on_progress("opening", index / len(files))
            try:
                pictures[name] = services_pictures.picture_of(*file, name)
            except InputError as error:
                gallery().refused[name] = str(error)
                del gallery().files[name]
    show_refused(page)
    return pictures


def show_refused(page: str) -> None:
    """What could not be read, by name, until the visitor has seen enough of it."""
    refused = gallery().refused
    if not refused:
        return
    lines = [plain(reason) for reason in list(refused.values())[:NOTED]]
    lines += [say("gallery_refused_more", count=len(refused) - NOTED)] * (len(refused) > NOTED)
    st.warning("  \n".join([say("gallery_refused", count=len(refused)), *lines]))
    st.button(
        say("gallery_refused_seen"), key=f"{page}_refused_seen", on_click=refused.clear,
        type="tertiary",
    )  # fmt: skip


def pick(page: str) -> PictureRef:
    """One picture to look at: the newest of the visitor's, or a sample, until another is chosen."""
    own, key = opened(page), f"{page}_pick"
    names = [*own, *(SAMPLE + name for name in SAMPLES)]
    state, newest = state_of(page).gallery, gallery().newest
    if state.newest != newest:
        state.newest = st.session_state[key] = newest
    if st.session_state.get(key) not in names:
        st.session_state[key] = names[max(0, len(own) - 1)]
    name = st.pills(
        say("image_pick"), names, wrap=True, key=key, persist_state="session",
        format_func=lambda name: SAMPLES.get(name.removeprefix(SAMPLE), plain(name)),
        required=True, label_visibility="collapsed",
    )  # fmt: skip
    return own[name] if name in own else services_pictures.sample(name.removeprefix(SAMPLE))
