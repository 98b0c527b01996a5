"""Loaders of the lab: the q, k and v of one layer, for what a visitor gave; bounded."""

from dataclasses import dataclass

import streamlit as st

from app.services import runs
from app.services.runs import Tell, Wait, Wanted, Work
from app.services.store import Store
from core.bench.sweep.model_inputs import ModelCall, record_call
from core.models.vision.images import Picture

CALL_BYTES = 300_000_000


@dataclass(frozen=True)
class Asked:
    """The layer of a model that reads what was given."""

    wanted: Wanted
    layer: int

    @property
    def model(self) -> str:
        """The model's name."""
        return self.wanted.model


@dataclass(frozen=True)
class Kept:
    """What was taken, and for what."""

    asked: Asked
    taken: ModelCall


@st.cache_resource
def calls() -> Store:
    """Attention calls that visitors asked for."""
    return Store(CALL_BYTES, lambda kept: kept.taken.nbytes)


def work(given: str | Picture) -> Work:
    """How the call of a text or a picture is had."""
    return Work(calls().get, lambda asked, tell, wait: _make(asked, given, tell, wait))


def _make(asked: Asked, given: str | Picture, tell: Tell, wait: Wait) -> Kept:
    """Run the model as far as the layer.

    Raises:
        InputError: if the input, the model or the layer does not allow it.
    """
    model = runs.reader_for(asked.wanted, tell)
    with runs.turns().turn(wait):
        taken = record_call(model, given, asked.layer, on_call=lambda share: tell("running", share))
    kept = Kept(asked, taken)
    calls().put(asked, kept)
    return kept
