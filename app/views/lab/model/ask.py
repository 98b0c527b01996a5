"""Asking: which model, what it reads, which mechanisms, and in which layers."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import streamlit as st

from app.components import gallery, pickers, sidebar
from app.components.pickers import chooser
from app.services.model_job import Choice
from app.services.pictures import PictureRef
from app.words import say
from core.attention import MECHANISMS
from core.bench.model.layers import Layer
from core.models import MODELS

FIRST = ("standard", "window", "longformer", "topk", "linear", "favor")


class Asked(NamedTuple):
    """What is to be measured, and how the input is had."""

    choice: Choice
    given: Callable[[], object]


def ask() -> Asked:
    """Model and input, then the form; Run sets `lab_whole_wanted`."""
    left, right = st.columns([1, 1], vertical_alignment="bottom")
    with left:
        model = pickers.model_picker("text", "lab_whole", "vision")
    with right:
        kind = _kind(model)
    shown = _pick() if kind == "vision" else None
    with st.form("lab_whole_form", border=False):
        text = _text() if shown is None else ""
        wide, narrow = st.columns([2, 1], gap="medium")
        with wide:
            mechanisms = _mechanisms()
        with narrow:
            span = _span(model)
            if st.form_submit_button(say("lab_whole_run"), type="primary", key="lab_whole_run"):
                st.session_state["lab_whole_wanted"] = True
    wanted = sidebar.wanted(model, (text,) if shown is None else shown.key)
    choice = Choice(replace(wanted, mechanism=None), tuple(mechanisms), span)
    return Asked(choice, lambda: text if shown is None else shown.picture)


def known() -> dict[str, tuple[Layer, ...]]:
    """The layers of models that this visitor has run."""
    return st.session_state.setdefault("lab_whole_known", {})


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
    gallery.add("lab_whole")
    shown = gallery.pick("lab_whole")
    st.image(shown.picture.pixels, width=120)
    return shown


def _mechanisms() -> list[str]:
    there = [name for name in MECHANISMS if name not in sidebar.reasons()]
    return st.pills(
        say("lab_whole_mechanisms"), there, default=[name for name in FIRST if name in there],
        selection_mode="multi", wrap=True, format_func=lambda name: MECHANISMS[name].title,
        key="lab_whole_mechanisms", persist_state="session", help=say("lab_whole_mechanisms_help"),
    )  # fmt: skip


def _span(model: str) -> tuple[int, int] | None:
    """The first and the last layer; None is all of them."""
    layers = known().get(model.strip(), ())
    if not layers:
        st.caption(say("lab_whole_unknown"))
    if len(layers) < 2:  # a slider needs two ends
        return None
    whole = (0, len(layers) - 1)
    span = st.select_slider(
        say("lab_whole_range"), range(len(layers)), whole,
        format_func=lambda index: layers[index].name, key=f"lab_whole_range_{model.strip()}",
        persist_state="session", help=say("lab_whole_range_help"),
    )  # fmt: skip
    return None if span == whole else span
