"""Inputs of the lab: random q, k and v, or those of a model for the visitor's text or picture."""

from dataclasses import replace

import streamlit as st

from app.components import gallery, pickers, progress, sidebar
from app.components.pickers import chooser
from app.services import layer_inputs
from app.services.layer_inputs import Asked
from app.services.sweep_job import Running
from app.words import plain, say
from core.bench.sweep.model_inputs import ModelCall
from core.models import MODELS
from core.models.vision.images import Picture

SOURCES = ("random", "sentence", "picture")
FIRST_TEXT = "The animal didn't cross the street because it was too tired."


def source() -> str:
    """One of `SOURCES`, by the visitor's choice."""
    return chooser("lab_source", SOURCES, "lab_source", "lab_source_")


def taken(source: str) -> ModelCall | None:
    """The q, k and v of the chosen layer; None, and one sentence, where they cannot be had."""
    left, right = st.columns([3, 1])
    with left:
        if source == "sentence":
            kind, key = "text", "lab_text"
            given, named = _text()
        else:
            kind, key = "vision", "lab_picture"
            given, named = _picture()
    with right:
        model = pickers.model_picker(kind, key)
        layer_place = st.container()
    layer_key = f"{key}_layer_{model}"
    entry = MODELS.get(model)
    layer = st.session_state.setdefault(layer_key, entry.first_look[0] if entry else 0)
    asked = Asked(replace(sidebar.wanted(model, named), mechanism=None), layer)
    found = _taken(asked, given)
    if found is None:
        return None
    layer_place.selectbox(
        say("layer"), range(found.layers), key=layer_key, persist_state="session",
        help=say("layer_help"),
    )  # fmt: skip
    for note in found.notes:
        st.caption(plain(note))
    _, heads, length, dim = found.call.query.shape
    sizes = {"heads": heads, "kv_heads": found.origin.kv_heads, "length": length, "dim": dim}
    grouped = found.origin.kv_heads != heads
    told = say("lab_taken_grouped" if grouped else "lab_taken", **sizes)
    extra = [say("lab_taken_causal")] * found.call.is_causal
    extra += [say("lab_taken_masked")] * found.origin.masked
    st.caption(" · ".join([told, *extra]))
    return found


def _taken(asked: Asked, given: str | Picture) -> ModelCall | None:
    state, slot = st.session_state, st.empty()
    work = layer_inputs.work(given)
    running: Running | None = state.get("lab_running")
    runs = running is not None and not (running.finished.is_set() or running.sweep.cancelled)
    if runs and work.find(asked) is None:  # the model would wait for it, and the page with it
        st.caption(say("lab_after_run"))
        return None
    state.pop("lab_given_last", None)  # of another input: no use here
    kept = progress.attempt(asked, work, slot, "lab_given")
    return None if kept is None else kept.taken


def _text() -> tuple[str, tuple[str, ...]]:
    text = st.text_area(
        say("lab_text"), FIRST_TEXT, height=92, key="lab_text", persist_state="session",
        help=say("lab_text_help"),
    )  # fmt: skip
    return text, (text,)


def _picture() -> tuple[Picture, str]:
    gallery.add("lab")
    shown = gallery.pick("lab")
    st.image(shown.picture.pixels, width=120)
    return shown.picture, shown.key
