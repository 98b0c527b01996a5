"""Loaders of the CLIP page: looks at pictures and labels, and the encodings they are made of."""

from dataclasses import dataclass

import streamlit as st

from app.services import runs
from app.services.pictures import PictureRef
from app.services.runs import Kept, Tell, Wait, Wanted, Work
from app.services.store import Store
from app.words import say
from core import models
from core.errors import InputError
from core.models.clip.model import ClipModel
from core.picture.files.thumbnail import thumbnail as small
from core.zero_shot.classification import Classification, classify
from core.zero_shot.encodings import Encodings
from core.zero_shot.similarity import Ranked, ranking
from core.zero_shot.table import Settings, settings_of

ENCODING_BYTES = 500_000_000  # vectors of the latest pictures and prompts
LOOK_BYTES = 500_000_000
THUMBNAIL_BYTES = 50_000_000
CARD = 320  # pixels of a picture in a list; an axis takes smaller ones


@dataclass(frozen=True)
class Asked:
    """What a visitor asked for; two who ask the same share one look."""

    model: str
    pictures: tuple[str, ...]  # a name and a digest each
    labels: tuple[str, ...]
    templates: tuple[str, ...]
    mechanism: str | None
    device: str
    precision: str

    def of(self, given: tuple[str, ...] | str) -> Wanted:
        """One tower's run of a picture (its name) or of prompts, by the same choices."""
        return Wanted(self.model, given, self.mechanism, self.device, self.precision)


@dataclass(frozen=True)
class Looked:
    """A look, and what was asked for."""

    asked: Asked
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
def looks() -> Store:
    """The latest looks."""
    return Store(LOOK_BYTES, lambda looked: looked.nbytes)


def look_work(shown: dict[str, PictureRef]) -> Work:
    """How a look at these pictures is had."""
    return Work(looks().get, lambda asked, tell, wait: look_for(asked, shown, tell, wait))


def look_for(asked: Asked, shown: dict[str, PictureRef], tell: Tell, wait: Wait) -> Looked:
    """The look that a visitor asked for; only pictures and prompts that are new are encoded.

    Raises:
        InputError: if the model, the pictures, the labels or the mechanism do not allow it.
    """
    model = clip_for(asked, tell)
    # Opened only where the model has not seen them yet: many large ones do not fit at once.
    pictures = [(each.key, lambda each=each: each.picture) for each in shown.values()]
    found = classify(
        model, encodings(), pictures, asked.labels, asked.templates,
        mechanism=asked.mechanism,
        on_pictures=lambda share: tell("encoding_pictures", share),
        on_texts=lambda share: tell("encoding_texts", share),
        turn=lambda: runs.turns().turn(wait),
    )  # fmt: skip
    looked = Looked(asked, found, settings_of(model, asked.mechanism, asked.templates))
    looks().put(asked, looked)
    return looked


def clip_for(asked: Asked, tell: Tell) -> ClipModel:
    """The model with both towers.

    Raises:
        InputError: if it cannot be had, or reads no pictures with texts.
    """
    model = runs.model_for(asked.of(""), tell)
    models.require_kind(model, "clip")
    return model


def image_run(asked: Asked, shown: PictureRef, tell: Tell, wait: Wait) -> Kept:
    """The image tower's run of one picture, with every attention call.

    Raises:
        InputError: if the tower has no attention that can be recorded.
    """
    wanted = asked.of(shown.key)
    kept = runs.runs().get(wanted)
    return kept or runs.run_for(wanted, shown.picture, tell, wait)


def text_run(asked: Asked, prompt: str, tell: Tell, wait: Wait) -> Kept:
    """The text tower's run of one prompt.

    Raises:
        InputError: if the tower has no attention that can be recorded.
    """
    wanted = asked.of((prompt,))
    kept = runs.runs().get(wanted)
    return kept or runs.run_for(wanted, [prompt], tell, wait)


@dataclass(frozen=True)
class Ranking:
    """Pictures by their cosine with some words, and the words that were not read."""

    pictures: list[Ranked]
    cut: str


def ranked(looked: Looked, words: str, tell: Tell, wait: Wait) -> Ranking:
    """The pictures' numbers and cosines with the words, the nearest first.

    Raises:
        InputError: if there are no words.
    """
    prompt = " ".join(words.split())
    if not prompt:
        raise InputError(say("clip_query_empty"))
    model = clip_for(looked.asked, tell)
    with runs.turns().turn(wait):
        query = encodings().texts(model, [prompt], looked.asked.mechanism, None)[0]
    return Ranking(ranking(query, looked.classification.pictures), model.cut_words(prompt)[1])


def thumbnail(shown: PictureRef, side: int = CARD) -> str:
    """A small copy of a picture as a data URL."""
    key = (shown.key, side)
    url = thumbnails().get(key)
    if url is None:
        url = small(shown.picture, side)
        thumbnails().put(key, url)
    return url


@st.cache_resource
def thumbnails() -> Store:
    """Small copies, by picture and size."""
    return Store(THUMBNAIL_BYTES, len)
