"""Long files: a text file, or our own source as a sample, read in place of the sentences."""

from dataclasses import dataclass
from pathlib import Path

import streamlit as st

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


@dataclass(frozen=True)
class Attached:
    """One text that is read in place of what was typed, which stays."""

    name: str
    text: str
    typed: str  # what stood in the text area: whoever changes it wants it read again


def add(key: str) -> None:
    """A place to give a file."""
    state = st.session_state
    with st.popover(say("text_file"), icon=":material/description:"):
        # A new name empties the uploader: the text was taken, and is shown with a way to remove it.
        name = f"{key}_file_{state.get(f'{key}_files', 0)}"
        st.file_uploader(
            say("text_file"),
            key=name,
            help=say("text_file_help"),
            label_visibility="collapsed",
            max_upload_size=MOST_BYTES // 1_000_000,
            on_change=lambda: take(name, key),
        )


def take(name: str, key: str) -> None:
    """Attach the text of an uploaded file, or keep the sentence on why there is none."""
    state = st.session_state
    file = state[name]
    if file is None:
        return
    state[f"{key}_files"] = state.get(f"{key}_files", 0) + 1
    try:
        attach(file.name, text_in(file.getvalue(), file.name), key)
    except InputError as error:
        state[f"{key}_file_error"] = str(error)


def attach(name: str, text: str, key: str) -> None:
    """Read this text from now on."""
    state = st.session_state
    state[f"{key}_attached"] = Attached(name, text, state[f"{key}_text"])
    state.pop(f"{key}_file_error", None)


def attach_own_source(key: str) -> None:
    """The sample of a long text: files of this program, read by the model that reads most."""
    text = "\n".join((CORE / name).read_text(encoding="utf-8") for name in OWN_SOURCE)
    st.session_state[f"{key}_model"] = LONG_READER
    attach(say("own_source"), text, key)


def remove(key: str) -> None:
    """Read what is typed again."""
    st.session_state.pop(f"{key}_attached", None)
    st.session_state.pop(f"{key}_file_error", None)


def leave_if_typed(key: str) -> None:
    """Run after something else was typed means what was typed."""
    given = attached(key)
    if given is not None and st.session_state[f"{key}_text"] != given.typed:
        remove(key)


def attached(key: str) -> Attached | None:
    """The text that is read in place of what was typed, if there is one."""
    return st.session_state.get(f"{key}_attached")


def tell(key: str) -> None:
    """What is read in place of the sentences, with a way back; or why a file could not be."""
    error = st.session_state.get(f"{key}_file_error")
    if error is not None:
        st.warning(plain(error))
    given = attached(key)
    if given is None:
        return
    with st.container(horizontal=True, vertical_alignment="center"):
        words = {"name": plain(given.name), "characters": f"{len(given.text):,}"}
        st.caption(say("text_attached", **words), width="content")
        st.button(
            say("text_detach"), key=f"{key}_detach", type="tertiary", on_click=lambda: remove(key)
        )


def name_of(given: str, key: str = "text") -> str:
    """What a download says was read: a file's name, or the text, shortened where it is long."""
    file = attached(key)
    if file is not None and file.text == given:
        return file.name
    if len(given) <= LETTERS * 10:
        return given
    return say("text_shortened", start=given[:LETTERS], characters=f"{len(given):,}")
