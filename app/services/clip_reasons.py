"""Loaders of the CLIP page's reasons: heat maps on pictures, and words shaded by relevance."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import streamlit as st
from jaxtyping import Float

from app.services import pictures, runs
from app.services.clip_scores import Asked, Looked, clip_for
from app.services.pictures import PictureRef
from app.services.runs import Kept, Tell, Wait
from app.services.store import Store
from core.explain.method import Method, explain
from core.explain.reader import last_attention
from core.explain.relevance import image_relevance, text_relevance
from core.models.geometry import Geometry
from core.models.run import Prepared
from core.picture.canvas.views import Photo
from core.types import Position

EXPLAINED = 512  # heat maps and shaded prompts


@st.cache_resource
def heats() -> Store:
    """Heat maps and shaded tokens that were made."""
    return Store(EXPLAINED, lambda found: 1)


@dataclass(frozen=True)
class Question:
    """Which score is explained, and how; two who ask the same share one answer."""

    asked: Asked
    picture: str
    label: int
    other: int | None  # a second label, to show the difference
    method: Method | Literal["heads"]

    @property
    def name(self) -> str:
        """A short name for the browser."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def scale_of(question: Question) -> dict[str, Any]:
    """How the colours of a heat map run: cosines have no zero that means 'nothing'."""
    if question.other is not None:
        return {"diverging": True, "middle": "zero"}
    cosine = question.method == "similarity"
    return {"diverging": cosine, "middle": "mean" if cosine else "zero"}


@dataclass(frozen=True)
class Heat:
    """A heat map, and the picture that it lies on."""

    values: Float[np.ndarray, "row column"]
    geometry: Geometry
    photo: Photo
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Tokens:
    """The tokens of a prompt, and how much each counts."""

    labels: tuple[str, ...]
    values: Float[np.ndarray, " token"]


def heat_for(question: Question, looked: Looked, shown: PictureRef, tell: Tell, wait: Wait) -> Heat:
    """The heat map of one score, made once.

    Raises:
        InputError: if the image tower cannot be read in this way.
    """
    found = heats().get(question)
    if found is not None:
        return found
    model = clip_for(question.asked, tell)
    directions = [looked.classification.texts[question.label]]
    if question.other is not None:
        directions.append(looked.classification.texts[question.other])
    with runs.turns().turn(wait):
        tell("explaining", 0.0)
        prepared = model.image.prepare(shown.picture)
        values = explain(question.method, model, prepared, directions, question.asked.mechanism)
    found = Heat(values, prepared.geometry, photo(question, shown, prepared), prepared.notes)
    heats().put(question, found)
    return found


@dataclass(frozen=True)
class Parts:
    """Every head's part in a score, over the positions of the image tower."""

    heads: Float[np.ndarray, "layer head position"]
    keys: tuple[Position, ...]
    photo: Photo


def heads_for(
    question: Question, looked: Looked, shown: PictureRef, tell: Tell, wait: Wait
) -> Parts:
    """What each head of the image tower adds to a score: (gradient x attention)+.

    Raises:
        InputError: if the image tower has no attention.
    """
    key = replace(question, other=None, method="heads")
    found = heats().get(key)
    if found is None:
        model = clip_for(question.asked, tell)
        direction = looked.classification.texts[question.label]
        with runs.turns().turn(wait):
            tell("explaining", 0.0)
            prepared = model.image.prepare(shown.picture)
            relevance = image_relevance(model, prepared, direction, question.asked.mechanism)
        keys = prepared.groups[0].keys[0]
        found = Parts(relevance.heads, keys, photo(question, shown, prepared))
        heats().put(key, found)
    return found


def photo(question: Question, shown: PictureRef, prepared: Prepared) -> Photo:
    """The picture as the browser gets it."""
    name = f"{question.asked.model} {question.picture}"
    return pictures.photo_of(name, shown.picture, prepared.geometry)


def tokens_for(
    looked: Looked, kept: Kept, index: int, shown: PictureRef, reading: str, tell: Tell, wait: Wait
) -> Tokens:
    """How much each token of a prompt counts for its cosine with a picture, or is looked at.

    Raises:
        InputError: if the text tower has no attention.
    """
    key = (looked.asked, kept.wanted, shown.key, reading)
    found = heats().get(key)
    if found is None:
        model, prepared = clip_for(looked.asked, tell), kept.run.prepared
        if reading == "attention":
            values = last_attention(model.text, kept.run)
        else:
            direction = looked.classification.pictures[index]
            with runs.turns().turn(wait):
                relevance = text_relevance(model, prepared, direction, looked.asked.mechanism)
            values = relevance.positions
        labels = tuple(position.label for position in prepared.groups[0].keys[0])
        found = Tokens(labels, values)
        heats().put(key, found)
    return found
