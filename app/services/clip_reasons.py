"""Reasons of the CLIP page: heat maps on pictures, the parts of heads, and shaded words."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import streamlit as st
from jaxtyping import Float

from app.services import loaders, pictures
from app.services.clip_scores import ClassificationRequest, ClassificationResult, clip_for
from app.services.pictures import PhotoSource, PictureRef
from app.services.requests import Callbacks, RunRequest, digest
from app.services.runs import RunResult
from app.services.service import Service
from app.services.store import Store
from core.explain.method import Method, explain
from core.explain.reader import last_attention
from core.explain.relevance import image_relevance, text_relevance
from core.models.geometry import Geometry
from core.models.run import Prepared
from core.picture.canvas.views import Photo
from core.types import Position

REASONS = 512  # heat maps, parts of heads and shaded prompts together


@st.cache_resource
def reasons() -> Store:
    """The latest reasons of all kinds."""
    return Store(REASONS, lambda reason: 1)


@dataclass(frozen=True)
class ReasonRequest:
    """Which score is explained on its picture, and how."""

    classification: ClassificationRequest
    picture: str  # by key
    label: int
    other: int | None  # a second label, to show the difference
    method: Method

    @property
    def name(self) -> str:
        """A short name for the browser."""
        return digest(self)


class ReasonSource(NamedTuple):
    """The classification with the vectors that are explained, and the picture."""

    result: ClassificationResult
    picture: PictureRef


def scale_of(request: ReasonRequest) -> dict[str, Any]:
    """How the colours of a heat map run: cosines have no zero that means 'nothing'."""
    if request.other is not None:
        return {"diverging": True, "middle": "zero"}
    cosine = request.method == "similarity"
    return {"diverging": cosine, "middle": "mean" if cosine else "zero"}


@dataclass(frozen=True)
class Heat:
    """A heat map, and the picture that it lies on."""

    values: Float[np.ndarray, "row column"]
    geometry: Geometry
    photo: Photo
    notes: tuple[str, ...]


def heats() -> Service[ReasonRequest, ReasonSource, Heat]:
    """Heat maps of scores."""
    return Service(reasons(), make_heat)


def make_heat(request: ReasonRequest, source: ReasonSource, callbacks: Callbacks) -> Heat:
    """The heat map of one score.

    Raises:
        InputError: if the image tower cannot be read in this way.
    """
    model, texts = clip_for(request.classification, callbacks), source.result.classification.texts
    labels = [request.label] if request.other is None else [request.label, request.other]
    with loaders.turns().turn(callbacks.on_wait):
        callbacks.on_progress("explaining", 0.0)
        prepared = model.image.prepare(source.picture.picture)
        directions = [texts[label] for label in labels]
        mechanism = request.classification.mechanism
        values = explain(request.method, model, prepared, directions, mechanism)
    photo = photo_of(request.classification, source.picture, prepared)
    return Heat(values, prepared.geometry, photo, prepared.notes)


@dataclass(frozen=True)
class HeadPartsRequest:
    """Which score is taken apart by the heads of the image tower."""

    classification: ClassificationRequest
    picture: str  # by key
    label: int

    @property
    def name(self) -> str:
        """A short name for the browser."""
        return digest(self)


@dataclass(frozen=True)
class HeadParts:
    """Every head's part in a score, over the positions of the image tower."""

    heads: Float[np.ndarray, "layer head position"]
    keys: tuple[Position, ...]
    photo: Photo


def head_parts() -> Service[HeadPartsRequest, ReasonSource, HeadParts]:
    """What each head of the image tower adds to a score: (gradient x attention)+."""
    return Service(reasons(), make_head_parts)


def make_head_parts(
    request: HeadPartsRequest, source: ReasonSource, callbacks: Callbacks
) -> HeadParts:
    """The parts of one score.

    Raises:
        InputError: if the image tower has no attention.
    """
    model = clip_for(request.classification, callbacks)
    direction = source.result.classification.texts[request.label]
    with loaders.turns().turn(callbacks.on_wait):
        callbacks.on_progress("explaining", 0.0)
        prepared = model.image.prepare(source.picture.picture)
        relevance = image_relevance(model, prepared, direction, request.classification.mechanism)
    keys = prepared.groups[0].keys[0]
    photo = photo_of(request.classification, source.picture, prepared)
    return HeadParts(relevance.heads, keys, photo)


def photo_of(request: ClassificationRequest, picture: PictureRef, prepared: Prepared) -> Photo:
    """The picture as the browser gets it."""
    source = PhotoSource(picture.picture, prepared.geometry)
    return pictures.photos().get(f"{request.model} {picture.key}", source)


@dataclass(frozen=True)
class TokensRequest:
    """Which prompt is shaded: by relevance for its cosine with a picture, or by attention."""

    classification: ClassificationRequest
    run: RunRequest
    picture: str  # by key
    reading: str


class TokensSource(NamedTuple):
    """The classification with the picture's vector, and the text tower's run of the prompt."""

    result: ClassificationResult
    run: RunResult


@dataclass(frozen=True)
class Tokens:
    """The tokens of a prompt, and how much each counts."""

    labels: tuple[str, ...]
    values: Float[np.ndarray, " token"]


def tokens() -> Service[TokensRequest, TokensSource, Tokens]:
    """How much each token of a prompt counts for its cosine with a picture, or is looked at."""
    return Service(reasons(), make_tokens)


def make_tokens(request: TokensRequest, source: TokensSource, callbacks: Callbacks) -> Tokens:
    """The shades of one prompt.

    Raises:
        InputError: if the text tower has no attention.
    """
    model, run = clip_for(request.classification, callbacks), source.run.run
    if request.reading == "attention":
        values = last_attention(model.text, run)
    else:
        index = request.classification.pictures.index(request.picture)
        direction = source.result.classification.pictures[index]
        mechanism = request.classification.mechanism
        with loaders.turns().turn(callbacks.on_wait):
            relevance = text_relevance(model, run.prepared, direction, mechanism)
        values = relevance.positions
    labels = tuple(position.label for position in run.prepared.groups[0].keys[0])
    return Tokens(labels, values)
