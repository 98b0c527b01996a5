"""Layer inputs: q, k and v of one layer of a model, for the lab."""

from dataclasses import dataclass

import streamlit as st

from app.services import loaders
from app.services.pictures import PictureRef, text_or_picture
from app.services.requests import Callbacks, RunRequest
from app.services.service import Service
from app.services.store import Store
from core.bench.sweep.model_inputs import ModelCall, record_call

CALL_BYTES = 300_000_000


@dataclass(frozen=True)
class LayerRequest:
    """One layer of a model that reads a text or a picture."""

    run: RunRequest
    layer: int

    @property
    def model(self) -> str:
        """The model's name."""
        return self.run.model


@dataclass(frozen=True)
class LayerResult:
    """The layer's attention call, and what was asked for."""

    request: LayerRequest
    call: ModelCall


@st.cache_resource
def layer_inputs() -> Service[LayerRequest, PictureRef | None, LayerResult]:
    """Attention calls that visitors asked for."""
    return Service(Store(CALL_BYTES, lambda result: result.call.nbytes), make_layer_inputs)


def make_layer_inputs(
    request: LayerRequest, picture: PictureRef | None, callbacks: Callbacks
) -> LayerResult:
    """Run the model as far as the layer.

    Raises:
        InputError: if the input, the model or the layer does not allow it.
    """
    model = loaders.reader_for(request.run, callbacks)
    with loaders.turns().turn(callbacks.on_wait):
        call = record_call(
            model,
            text_or_picture(request.run, picture),
            request.layer,
            on_call=lambda share: callbacks.on_progress("running", share),
        )
    return LayerResult(request, call)
