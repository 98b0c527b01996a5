"""Runs: forward passes, and their mosaics of heads."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from app.services import loaders
from app.services.pictures import PictureRef
from app.services.requests import SILENT, Callbacks, RunRequest
from app.services.service import Service
from app.services.store import Store
from core.maps.choices import of_all_heads
from core.maps.head_view import Choice, mosaic_view
from core.models.run import Run
from core.models.text.next_token import likely_after
from core.types import Prediction

RUN_BYTES = 2_000_000_000  # q and k of the latest runs
MOSAIC_BYTES = 200_000_000
NEXT_TOKENS = 8  # as many bars as one looks at


@dataclass(frozen=True)
class RunResult:
    """A run, and what was asked for."""

    request: RunRequest
    run: Run


@st.cache_resource
def runs() -> Service[RunRequest, PictureRef | None, RunResult]:
    """Runs of texts, or of the picture that is given as the source."""
    return Service(Store(RUN_BYTES, lambda result: result.run.trace.nbytes), make_run)


def make_run(request: RunRequest, picture: PictureRef | None, callbacks: Callbacks) -> RunResult:
    """A new forward pass.

    Raises:
        InputError: if the input, the model or the mechanism does not allow it.
    """
    model = loaders.reader_for(request, callbacks)
    with loaders.turns().turn(callbacks.on_wait):
        found = runs().find(request)  # another visitor may have asked the same while we waited
        if found is not None:
            return found
        run = model.run(
            list(request.input) if picture is None else picture.picture,
            request.mechanism,
            on_call=lambda share: callbacks.on_progress("running", share),
        )
    return RunResult(request, run)


def next_tokens(result: RunResult, item: int, position: int) -> tuple[Prediction, ...]:
    """The likeliest tokens after a position of a decoder's text.

    One row through the model's head takes milliseconds: it waits in no queue.
    """
    model = loaders.reader_for(result.request, SILENT)
    where = {"item": item, "position": position, "most": NEXT_TOKENS}
    return likely_after(model.module, model.tokenizer, result.run, **where)


@dataclass(frozen=True)
class MosaicRequest:
    """All heads of a run as thumbnails."""

    run: RunRequest
    choice: Choice


def mosaic_request(result: RunResult, choice: Choice) -> MosaicRequest:
    """The mosaic that one head belongs to."""
    return MosaicRequest(result.request, of_all_heads(choice))


@st.cache_resource
def mosaics() -> Service[MosaicRequest, RunResult, np.ndarray]:
    """Mosaics that were drawn."""
    return Service(Store(MOSAIC_BYTES, lambda mosaic: mosaic.nbytes), make_mosaic)


def make_mosaic(request: MosaicRequest, result: RunResult, callbacks: Callbacks) -> np.ndarray:
    """Draw all heads."""
    on_layer = lambda share: callbacks.on_progress("drawing", share)  # noqa: E731
    return mosaic_view(result.run, request.choice, on_layer=on_layer)
