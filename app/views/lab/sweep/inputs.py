"""Inputs of the lab: random q, k and v, or those of a model for the visitor's text or picture."""

from dataclasses import replace

import streamlit as st

from app.components import gallery, pickers, progress, sidebar
from app.components.pickers import chooser
from app.components.state import state_of
from app.services.jobs.job import Status
from app.services.layer_inputs import LayerRequest, layer_inputs
from app.services.pictures import PictureRef
from app.views.lab.sweep.state import sweep_state
from app.words import plain, say
from core.bench.sweep.model_inputs import ModelCall
from core.models import MODELS

SOURCES = ("random", "sentence", "picture")
FIRST_TEXT = "The animal didn't cross the street because it was too tired."


def source() -> str:
    """One of `SOURCES`, by the visitor's choice."""
    return chooser("lab_source", SOURCES, "lab_source", "lab_source_")


def layer_call(source: str) -> ModelCall | None:
    """The q, k and v of the chosen layer; None, and one sentence, where they cannot be had."""
    left, right = st.columns([3, 1])
    kind, key = ("text", "lab_text") if source == "sentence" else ("vision", "lab_picture")
    with left:
        text, picture = (_text(), None) if kind == "text" else ("", _picture())
    with right:
        model = pickers.model_picker(kind, key)
        layer_place = st.container()
    layer_key = f"{key}_layer_{model}"
    entry = MODELS.get(model)
    layer = st.session_state.setdefault(layer_key, entry.first_look[0] if entry else 0)
    run = sidebar.run_request(model, (text,) if picture is None else picture.key)
    call = _call(LayerRequest(replace(run, mechanism=None), layer), picture)
    if call is None:
        return None
    layer_place.selectbox(
        say("layer"), range(call.layers), key=layer_key, persist_state="session",
        help=say("layer_help"),
    )  # fmt: skip
    for note in call.notes:
        st.caption(plain(note))
    st.caption(facts(call))
    return call


def facts(call: ModelCall) -> str:
    """The sizes of a call, and which keys its queries may look at."""
    _, heads, length, dim = call.call.query.shape
    sizes = {"heads": heads, "kv_heads": call.origin.kv_heads, "length": length, "dim": dim}
    grouped = call.origin.kv_heads != heads
    parts = [say("lab_taken_grouped" if grouped else "lab_taken", **sizes)]
    parts += [say("lab_taken_causal")] * call.call.is_causal
    parts += [say("lab_taken_masked")] * call.origin.masked
    return " · ".join(parts)


def _call(request: LayerRequest, picture: PictureRef | None) -> ModelCall | None:
    state, slot = sweep_state(), st.empty()
    runs = state.busy and state.job.status is not Status.CANCELLED
    if runs and layer_inputs().find(request) is None:  # the model would wait for it, and the page
        st.caption(say("lab_after_run"))
        return None
    state_of("lab_given").last = None  # of another input: no use here
    result = progress.attempt(request, layer_inputs(), picture, slot, "lab_given")
    return None if result is None else result.call


def _text() -> str:
    return st.text_area(
        say("lab_text"), FIRST_TEXT, height=92, key="lab_text", persist_state="session",
        help=say("lab_text_help"),
    )  # fmt: skip


def _picture() -> PictureRef:
    gallery.show("lab")
    picture = gallery.pick("lab")
    st.image(picture.picture.pixels, width=120)
    return picture
