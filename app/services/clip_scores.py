"""Scores of the CLIP page: pictures by labels, and the encodings they are made of."""

from dataclasses import dataclass

import streamlit as st

from app.services import loaders
from app.services.pictures import PictureRef
from app.services.requests import Callbacks, RunRequest
from app.services.service import Service
from app.services.store import Store
from app.words import say
from core import models
from core.errors import InputError
from core.models.clip.model import ClipModel
from core.picture.files import thumbnail as files_thumbnail
from core.zero_shot.classification import Classification, classify
from core.zero_shot.encodings import Encodings
from core.zero_shot.similarity import Ranked, ranking
from core.zero_shot.table import Settings, settings_of

ENCODING_BYTES = 500_000_000  # vectors of the latest pictures and prompts
CLASSIFICATION_BYTES = 500_000_000
THUMBNAIL_BYTES = 50_000_000
CARD = 320  # pixels of a picture in a list; an axis takes smaller ones


@dataclass(frozen=True)
class ClassificationRequest:
    """Pictures and labels; two who ask the same share one classification."""

    model: str
    pictures: tuple[str, ...]  # by key
    labels: tuple[str, ...]
    templates: tuple[str, ...]
    mechanism: str | None
    device: str
    precision: str

    def run(self, input: tuple[str, ...] | str) -> RunRequest:
        """One tower's run of prompts, or of a picture by its key, by the same choices."""
        return RunRequest(self.model, input, self.mechanism, self.device, self.precision)


@dataclass(frozen=True)
class ClassificationResult:
    """A classification, and what was asked for."""

    request: ClassificationRequest
    classification: Classification
    settings: Settings

    @property
    def nbytes(self) -> int:
        """About what its arrays take."""
        arrays = (
            self.classification.pictures,
            self.classification.texts,
            self.classification.scores.by_template,
        )
        return sum(array.nbytes for array in arrays)


@st.cache_resource
def encodings() -> Encodings:
    """Vectors of all visitors' pictures and prompts."""
    return Encodings(limit_bytes=ENCODING_BYTES)


@st.cache_resource
def classifications() -> Service[
    ClassificationRequest, tuple[PictureRef, ...], ClassificationResult
]:
    """Classifications of the pictures that are given as the source."""
    store = Store(CLASSIFICATION_BYTES, lambda result: result.nbytes)
    return Service(store, make_classification)


def make_classification(
    request: ClassificationRequest, pictures: tuple[PictureRef, ...], callbacks: Callbacks
) -> ClassificationResult:
    """Classify; only pictures and prompts that are new are encoded.

    Raises:
        InputError: if the model, the pictures, the labels or the mechanism do not allow it.
    """
    model = clip_for(request, callbacks)
    found = classify(
        model, encodings(),
        # Opened only where the model has not seen them yet: many large ones do not fit at once.
        [(each.key, lambda each=each: each.picture) for each in pictures],
        request.labels, request.templates,
        mechanism=request.mechanism,
        on_pictures=lambda share: callbacks.on_progress("encoding_pictures", share),
        on_texts=lambda share: callbacks.on_progress("encoding_texts", share),
        turn=lambda: loaders.turns().turn(callbacks.on_wait),
    )  # fmt: skip
    settings = settings_of(model, request.mechanism, request.templates)
    return ClassificationResult(request, found, settings)


def clip_for(request: ClassificationRequest, callbacks: Callbacks) -> ClipModel:
    """The model with both towers.

    Raises:
        InputError: if it cannot be had, or reads no pictures with texts.
    """
    model = loaders.model_for(request.run(""), callbacks)
    models.require_kind(model, "clip")
    return model


@dataclass(frozen=True)
class Ranking:
    """Pictures by their cosine with some words, and the words that were not read."""

    pictures: list[Ranked]
    cut: str


def ranked(result: ClassificationResult, words: str, callbacks: Callbacks) -> Ranking:
    """The pictures' numbers and cosines with the words, the nearest first.

    Raises:
        InputError: if there are no words.
    """
    prompt = " ".join(words.split())
    if not prompt:
        raise InputError(say("clip_query_empty"))
    model = clip_for(result.request, callbacks)
    with loaders.turns().turn(callbacks.on_wait):
        query = encodings().texts(model, [prompt], result.request.mechanism, None)[0]
    return Ranking(ranking(query, result.classification.pictures), model.cut_words(prompt)[1])


@dataclass(frozen=True)
class ThumbnailRequest:
    """A picture by its key, and the pixels of its longer side."""

    picture: str
    side: int


@st.cache_resource
def thumbnails() -> Service[ThumbnailRequest, PictureRef, str]:
    """Small copies as data URLs."""
    return Service(Store(THUMBNAIL_BYTES, len), make_thumbnail)


def make_thumbnail(request: ThumbnailRequest, picture: PictureRef, callbacks: Callbacks) -> str:
    """A small copy."""
    return files_thumbnail.thumbnail(picture.picture, request.side)


def thumbnail(picture: PictureRef, side: int = CARD) -> str:
    """A small copy of a picture as a data URL."""
    return thumbnails().get(ThumbnailRequest(picture.key, side), picture)
