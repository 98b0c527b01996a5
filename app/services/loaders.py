"""Loaders: models, loaded once and shared by all visitors, and the one queue in front of them."""

import os

import streamlit as st

from app.services import memory
from app.services.requests import Callbacks, RunRequest
from app.services.turns import Turns
from core import models
from core.attention import MECHANISMS
from core.capture.allocator import keep_freed_memory
from core.models.clip import ClipModel
from core.models.model import Model


def memory_kept() -> bool:
    """Was it asked for that freed memory stays? Faster, but no time of it is a plain process's."""
    return os.environ.get("HEADLIGHT_KEEP_MEMORY") == "1"


@st.cache_resource
def turns() -> Turns:
    """The one queue of this process; settings of the process are made with it."""
    if memory_kept():
        keep_freed_memory()
    return Turns()


@st.cache_resource(max_entries=4, show_spinner=False)
def loaded(name: str, device: str, precision: str) -> Model | ClipModel:
    """A model, loaded once and shared by all visitors."""
    return models.load(name, device=device, precision=precision)


@st.cache_resource
def loaded_before() -> set[tuple[str, str, str]]:
    """Models that were loaded in this process: the first load is the one worth a bar."""
    return set()


def model_for(request: RunRequest, callbacks: Callbacks) -> Model | ClipModel:
    """The model, its weights fetched first if they are not here yet.

    Raises:
        InputError: if it cannot be had.
    """
    key = (request.model, request.device, request.precision)
    if key not in loaded_before():
        callbacks.on_progress("loading", 0.0)
        models.fetch(request.model, lambda share: callbacks.on_progress("fetching", share))
    model = loaded(*key)
    if key not in loaded_before():
        memory.set_aside()
    loaded_before().add(key)
    if request.mechanism is not None and MECHANISMS[request.mechanism].compiles:
        callbacks.on_progress("compiling", 0.0)
    return model


def reader_for(request: RunRequest, callbacks: Callbacks) -> Model:
    """The model, or the tower of a CLIP, that reads the input: texts, or a picture.

    Raises:
        InputError: if it cannot be had, or does not read that.
    """
    kind = "vision" if isinstance(request.input, str) else "text"
    return models.tower_for(model_for(request, callbacks), kind)
