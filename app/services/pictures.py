"""Pictures: the latest keep their pixels, the others are opened again when needed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import streamlit as st

from app.services.requests import RunRequest
from app.services.service import Service
from app.services.store import Store
from core.models.geometry import Geometry
from core.models.vision.images import SAMPLES, Picture, open_picture, sample_picture
from core.picture.canvas.scene import photo
from core.picture.canvas.views import Photo

PICTURE_BYTES = 500_000_000  # pixels of the latest pictures
KNOWN = 4096  # pictures that need not be opened to be named
PHOTOS = 16  # copies for the browser


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
        return _key(self.name, self.size, self.digest)

    @property
    def picture(self) -> Picture:
        """Its pixels, from the store or opened again."""
        return pictures().get(self.key, self.source)


@st.cache_resource
def pictures() -> Service[str, Callable[[], Picture], Picture]:
    """Pictures that visitors opened, by key."""
    size = lambda picture: 3 * picture.pixels.width * picture.pixels.height  # noqa: E731
    return Service(Store(PICTURE_BYTES, size), lambda key, source, callbacks: source())


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
    return _ref(name, name, digest, lambda: open_picture(data, name))


def sample(name: str) -> PictureRef:
    """One of the photographs that come along."""
    return _ref(name, SAMPLES[name], f"sample/{name}", lambda: sample_picture(name))


def text_or_picture(request: RunRequest, picture: PictureRef | None) -> str | Picture:
    """The one text of a request, or the pixels of its picture."""
    return request.input[0] if picture is None else picture.picture


class PhotoSource(NamedTuple):
    """The pixels of a photo, and where the model's patches lie on them."""

    picture: Picture
    geometry: Geometry


@st.cache_resource
def photos() -> Service[str, PhotoSource, Photo]:
    """Pictures as the browser gets them, by a name of their content and size."""
    return Service(Store(PHOTOS, lambda made: 1), lambda name, source, callbacks: photo(*source))


def _ref(name: str, title: str, digest: str, source: Callable[[], Picture]) -> PictureRef:
    facts = known().get((digest, name))
    if facts is None:
        picture = source()
        facts = (picture.size, picture.notes)
        known().put((digest, name), facts)
        pictures().store.put(_key(name, picture.size, digest), picture)
    return PictureRef(name, title, digest, *facts, source)


def _key(name: str, size: tuple[int, int], digest: str) -> str:
    return f"{name} {size} {digest}"
