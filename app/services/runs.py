"""Loaders: models and runs, shared by all visitors and bounded; the only place that caches."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import streamlit as st

from app.services.measuring import Measuring
from app.services.store import Store
from app.services.turns import Turns
from core import models
from core.attention import MECHANISMS
from core.capture.allocator import keep_freed_memory
from core.maps.choices import of_all_heads
from core.maps.head_view import Choice, HeadView, head_view, mosaic_view
from core.models.clip import ClipModel
from core.models.model import Model
from core.models.run import Run

RUN_BYTES = 2_000_000_000  # q and k of the latest runs
MEASUREMENTS = 256
DRAWN_BYTES = 200_000_000  # mosaics and maps of the latest looks

Tell = Callable[[str, float], None]  # what is being done, and the share that is done
Wait = Callable[[int], None]  # how many are before us


class Asked(Protocol):
    """What a visitor asked for: it can be compared, looked up, and names its model."""

    model: str

    def __hash__(self) -> int:
        """Two who ask the same share one result."""


class Work(NamedTuple):
    """How a result is had: found among those that are kept, or made anew."""

    find: Callable[[Asked], Any]
    make: Callable[[Asked, Tell, Wait], Any]


@dataclass(frozen=True)
class Wanted:
    """What a visitor asked for; two who ask the same share one run."""

    model: str
    given: tuple[str, ...] | str  # texts, or the digest of a picture
    mechanism: str | None
    device: str
    precision: str

    @property
    def name(self) -> str:
        """A short name that the views of one run share in the browser."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Kept:
    """A run, and what was asked for."""

    wanted: Wanted
    run: Run


@st.cache_resource
def runs() -> Store:
    """Runs of all visitors."""
    return Store(RUN_BYTES, lambda kept: kept.run.trace.nbytes)


@st.cache_resource
def drawn() -> Store:
    """Mosaics and maps that were drawn from them."""
    return Store(DRAWN_BYTES, lambda array: array.nbytes)


@st.cache_resource
def turns() -> Turns:
    """The one queue of this process."""
    keep_freed_memory()
    return Turns()


@st.cache_resource(max_entries=4, show_spinner=False)
def loaded(name: str, device: str, precision: str) -> Model | ClipModel:
    """A model, loaded once and shared by all visitors."""
    return models.load(name, device=device, precision=precision)


@st.cache_resource
def seen() -> set[tuple[str, str, str]]:
    """Models that were loaded in this process: the first load is the one worth a bar."""
    return set()


def model_for(wanted: Wanted, tell: Tell) -> Model | ClipModel:
    """The model, its weights fetched first if they are not here yet.

    Raises:
        InputError: if it cannot be had.
    """
    key = (wanted.model, wanted.device, wanted.precision)
    if key not in seen():
        tell("loading", 0.0)
        models.fetch(wanted.model, lambda share: tell("fetching", share))
    model = loaded(*key)
    seen().add(key)
    if wanted.mechanism is not None and MECHANISMS[wanted.mechanism].compiles:
        tell("compiling", 0.0)
    return model


def reader_for(wanted: Wanted, tell: Tell) -> Model:
    """The model, or the tower of a CLIP, that reads what is given: texts, or a picture's name.

    Raises:
        InputError: if it cannot be had, or does not read that.
    """
    kind = "vision" if isinstance(wanted.given, str) else "text"
    return models.tower_for(model_for(wanted, tell), kind)


def run_for(wanted: Wanted, given: object, tell: Tell, on_wait: Wait) -> Kept:
    """The run that a visitor asked for: one that is kept, or a new forward pass.

    Raises:
        InputError: if the input, the model or the mechanism does not allow it.
    """
    model = reader_for(wanted, tell)
    with turns().turn(on_wait):
        kept = runs().get(wanted)  # another visitor may have asked the same while we waited
        if kept is None:
            run = model.run(given, wanted.mechanism, on_call=lambda share: tell("running", share))
            kept = Kept(wanted, run)
            runs().put(wanted, kept)
    return kept


def run_work(given: object) -> Work:
    """How the run of a text or a picture is had."""
    return Work(runs().get, lambda wanted, tell, wait: run_for(wanted, given, tell, wait))


@st.cache_resource
def measurements() -> Store:
    """Costs of the latest runs, those included that are still being measured."""
    return Store(MEASUREMENTS, lambda measuring: 1)


def measuring_of(wanted: Wanted) -> Measuring | None:
    """The measurement of a run, done or under way; None if nobody asked for it yet."""
    return measurements().get(wanted)


def measure_anew(kept: Kept, tell: Tell) -> Measuring:
    """Start to measure what a run costs.

    Raises:
        InputError: if the model cannot be had any more.
    """
    measuring = Measuring(reader_for(kept.wanted, tell), kept.run, turns())
    measurements().put(kept.wanted, measuring)
    return measuring


def mosaic_of(kept: Kept, choice: Choice) -> np.ndarray | None:
    """All heads of a run as thumbnails, if they were drawn before."""
    return drawn().get((kept.wanted, of_all_heads(choice)))


def mosaic_for(kept: Kept, choice: Choice, tell: Tell) -> np.ndarray:
    """All heads of a run as thumbnails, drawn once."""
    mosaic = mosaic_of(kept, choice)
    if mosaic is None:
        mosaic = mosaic_view(kept.run, choice, on_layer=lambda share: tell("drawing", share))
        drawn().put((kept.wanted, of_all_heads(choice)), mosaic)
    return mosaic


def head_for(kept: Kept, choice: Choice) -> HeadView:
    """One head of a run; cheap enough to make again for every look."""
    return head_view(kept.run, choice)
