"""Loaders of pictures: the latest keep their pixels, the others are opened again when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field

import streamlit as st

from app.services.store import Store
from core.models.geometry import Geometry
from core.models.vision.images import SAMPLES, Picture, open_picture, sample_picture
from core.picture.canvas.scene import photo
from core.picture.canvas.views import Photo

PICTURE_BYTES = 500_000_000  # pixels of the latest pictures
KNOWN = 4096  # pictures that need not be opened to be named


@dataclass(frozen=True)
class PictureRef:
    """A picture by name and content; its pixels are had when somebody asks for them."""

    name: str
    title: str  # as a person reads it
    digest: str
    size: tuple[int, int]  # height and width
    notes: tuple[str, ...]
    source: Callable[[], Picture] = field(compare=False, repr=False)

    @property
    def key(self) -> str:
        """What tells it from all others."""
        return f"{self.name} {self.size} {self.digest}"

    @property
    def picture(self) -> Picture:
        """Its pixels, from the store or opened again."""
        found = pictures().get(self.key)
        if found is None:
            found = self.source()
            pictures().put(self.key, found)
        return found


@st.cache_resource
def pictures() -> Store:
    """Pictures that visitors opened."""
    return Store(PICTURE_BYTES, lambda picture: 3 * picture.pixels.width * picture.pixels.height)


@st.cache_resource
def known() -> Store:
    """Size and notes of pictures that were opened at least once; no file and no pixels."""
    return Store(KNOWN, lambda facts: 1)


def is_known(digest: str, name: str) -> bool:
    """Was this picture opened before?"""
    return known().get((digest, name)) is not None


def picture_of(data: bytes, digest: str, name: str) -> PictureRef:
    """A picture from the bytes of its file, opened once to see that it is whole.

    Raises:
        InputError: if it is not a whole picture.
    """
    return _shown(name, name, digest, lambda: open_picture(data, name))


def sample(name: str) -> PictureRef:
    """One of the photographs that come along."""
    return _shown(name, SAMPLES[name], f"sample/{name}", lambda: sample_picture(name))


def _shown(name: str, title: str, digest: str, source: Callable[[], Picture]) -> PictureRef:
    facts = known().get((digest, name))
    if facts is None:
        picture = source()
        facts = (picture.size, picture.notes)
        known().put((digest, name), facts)
        pictures().put(f"{name} {picture.size} {digest}", picture)
    return PictureRef(name, title, digest, *facts, source)


@st.cache_resource(max_entries=16, show_spinner=False)
def photo_of(given: str, _picture: Picture, _geometry: Geometry) -> Photo:
    """A picture as the browser gets it; `given` names its content and its size."""
    return photo(_picture, _geometry)
