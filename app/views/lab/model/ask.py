"""Inputs: which model, what it reads, which mechanisms, and in which layers."""

from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from app.components import gallery, pickers, sidebar
from app.components.pickers import chooser
from app.services.jobs.model import StudyRequest
from app.services.pictures import PictureRef
from app.views.lab.model.state import model_state
from app.words import say
from core.attention import MECHANISMS
from core.models import MODELS

FIRST = ("standard", "window", "longformer", "topk", "linear", "favor")


class StudyInputs(NamedTuple):
    """What is to be measured, and the picture that is read, if it is one."""

    request: StudyRequest
    picture: PictureRef | None


def form() -> StudyInputs:
    """Model and input, then the form with Run."""
    left, right = st.columns([1, 1], vertical_alignment="bottom")
    with left:
        model = pickers.model_picker("text", "lab_whole", "vision")
    with right:
        kind = _kind(model)
    picture = _pick() if kind == "vision" else None
    with st.form("lab_whole_form", border=False):
        text = _text() if picture is None else ""
        wide, narrow = st.columns([2, 1], gap="medium")
        with wide:
            mechanisms = _mechanisms()
        with narrow:
            span = _span(model)
            if st.form_submit_button(say("lab_whole_run"), type="primary", key="lab_whole_run"):
                model_state().run_pressed = True
    run = sidebar.run_request(model, (text,) if picture is None else picture.key)
    return StudyInputs(StudyRequest(replace(run, mechanism=None), tuple(mechanisms), span), picture)


def _kind(model: str) -> str:
    """What the model reads; of a name that is not on the list, the visitor says it."""
    if model in MODELS:
        return MODELS[model].kind
    return chooser(
        "lab_whole_reads", ("text", "vision"), "lab_whole_reads", "lab_whole_reads_"
    )  # fmt: skip


def _text() -> str:
    st.session_state.setdefault("lab_whole_text", say("lab_whole_sample"))
    return st.text_area(
        say("lab_whole_text"), height=92, key="lab_whole_text", persist_state="session",
        help=say("lab_whole_text_help"),
    )  # fmt: skip


def _pick() -> PictureRef:
    """The picture to read, shown small."""
    gallery.show("lab_whole")
    picture = gallery.pick("lab_whole")
    st.image(picture.picture.pixels, width=120)
    return picture


def _mechanisms() -> list[str]:
    there = [name for name in MECHANISMS if name not in sidebar.reasons()]
    return st.pills(
        say("lab_whole_mechanisms"), there, default=[name for name in FIRST if name in there],
        selection_mode="multi", wrap=True, format_func=lambda name: MECHANISMS[name].title,
        key="lab_whole_mechanisms", persist_state="session", help=say("lab_whole_mechanisms_help"),
    )  # fmt: skip


def _span(model: str) -> tuple[int, int] | None:
    """The first and the last layer; None is all of them."""
    layers = model_state().layers.get(model.strip(), ())
    if not layers:
        st.caption(say("lab_whole_unknown"))
    if len(layers) < 2:  # a slider needs two ends
        return None
    every = (0, len(layers) - 1)
    span = st.select_slider(
        say("lab_whole_range"), range(len(layers)), every,
        format_func=lambda index: layers[index].name, key=f"lab_whole_range_{model.strip()}",
        persist_state="session", help=say("lab_whole_range_help"),
    )  # fmt: skip
    return None if span == every else span
