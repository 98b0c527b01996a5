"""Long files: a text file, or our own source as a sample, read in place of the sentences."""

from pathlib import Path

import streamlit as st

from app.components.state import AttachedFile, state_of
from app.components.uploads import present
from app.services.requests import digest
from app.words import plain, say
from core.errors import InputError
from core.models.files.text_files import MOST_BYTES, text_in

CORE = Path(__file__).parents[3] / "core"
OWN_SOURCE = (
    "capture/recorder.py",
    "capture/weights.py",
    "maps/blocks.py",
    "maps/maps.py",
    "maps/regions.py",
)  # about 8,000 tokens of SmolLM2
LONG_READER = "smollm2"  # the model of the list that reads most
LETTERS = 160  # of a text that names itself, in a file's provenance


def show(page: str) -> None:
    """A place to give a file."""
    with st.popover(say("text_file"), icon=":material/description:"):
        # A new name empties the uploader: the text was taken, and is shown with a way to remove it.
        key = f"{page}_file_{state_of(page).file.uploads}"
        st.file_uploader(
            say("text_file"),
            key=key,
            help=say("text_file_help"),
            label_visibility="collapsed",
            max_upload_size=MOST_BYTES // 1_000_000,
            on_change=lambda: take(key, page),
        )


def take(key: str, page: str) -> None:
    """Attach the text of an uploaded file, or remember the sentence on why there is none."""
    state, upload = state_of(page).file, present(st.session_state[key])
    if upload is None:
        return
    state.uploads += 1
    try:
        attach(upload.name, text_in(upload.getvalue(), upload.name), page)
    except InputError as error:
        state.error = str(error)


def attach(name: str, text: str, page: str) -> None:
    """Read this text from now on."""
    state = state_of(page).file
    state.attached = AttachedFile(name, text, _typed(page))
    state.error = None


def attach_own_source(page: str) -> None:
    """The sample of a long text: files of this program, read by the model that reads most."""
    text = "\n".join((CORE / name).read_text(encoding="utf-8") for name in OWN_SOURCE)
    st.session_state[f"{page}_model"] = LONG_READER
    attach(say("own_source"), text, page)


def remove(page: str) -> None:
    """Read what is typed again."""
    state = state_of(page).file
    state.attached = state.error = None


def leave_if_typed(page: str) -> None:
    """Run after something else was typed means what was typed."""
    file = attached(page)
    if file is not None and _typed(page) != file.typed:
        remove(page)


def attached(page: str) -> AttachedFile | None:
    """The text that is read in place of what was typed, if there is one."""
    return state_of(page).file.attached


def show_attached(page: str) -> None:
    """What is read in place of the sentences, with a way back; or why a file could not be."""
    error, file = state_of(page).file.error, attached(page)
    if error is not None:
        st.warning(plain(error))
    if file is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        words = {"name": plain(file.name), "characters": f"{len(file.text):,}"}
        st.caption(say("text_attached", **words), width="content")
        st.button(
            say("text_detach"), key=f"{page}_detach", type="tertiary", on_click=lambda: remove(page)
        )


def input_name(text: str, page: str = "text") -> str:
    """What a download says was read: a file's name, or the text, shortened where it is long."""
    file = attached(page)
    if file is not None and file.text == text:
        return file.name
    if len(text) <= LETTERS * 10:
        return text
    return say("text_shortened", start=text[:LETTERS], characters=f"{len(text):,}")


def _typed(page: str) -> str:
    return digest(st.session_state[f"{page}_text"])
