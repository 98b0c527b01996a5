"""State: what a page remembers between two reruns, beside the values of its widgets.

One object a page, or a part of a page whose widgets have keys of their own, under one session key.
"""

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

import streamlit as st

from app.services.jobs.job import Job
from app.services.pictures import PictureRef
from app.services.requests import Request, RunRequest
from core.maps.regions import Region
from core.picture.canvas.views import Head, Scale

ValueT = TypeVar("ValueT")
JobT = TypeVar("JobT", bound=Job)


@dataclass
class Initial(Generic[ValueT]):
    """A value as it was when a view came first.

    The browser keeps later ones by itself: were each one part of the data, the view would come
    again with every click.
    """

    view: Hashable = None
    value: ValueT | None = None

    def of(self, view: Hashable, value: ValueT) -> ValueT:
        """The value that the view came with; `value` if it comes now."""
        if self.view != view:
            self.view, self.value = view, value
        return self.value


class AttachedFile(NamedTuple):
    """One text that is read in place of what was typed, which stays."""

    name: str
    text: str
    typed: str  # digest of the text area then: whoever changes it wants it read again


@dataclass
class FileState:
    """The file that is read in place of the sentences."""

    attached: AttachedFile | None = None
    uploads: int = 0  # each empties the uploader under a new name
    error: str | None = None


class Pin(NamedTuple):
    """A pinned token: it stays pinned in every map that has it, whatever the model or sentence."""

    token: str | None  # without the signs by which tokenizers mark spaces; None: nothing is pinned
    place: int = 0  # among the tokens that read alike, from 0


@dataclass
class HeadsState:
    """The mosaic and the map of one head."""

    model: str | None = None  # whose first layer and head were opened
    pin: Pin | None = None
    initial_row: Initial[int | None] = field(default_factory=Initial)
    scale: Scale | None = None  # by which colour follows the weight, once it was chosen
    initial_scale: Initial[Scale | None] = field(default_factory=Initial)


@dataclass
class LongTextState:
    """The region of a long map, and the token that looks."""

    text: Hashable = None  # whose map it is
    region: Region | None = None  # None is all of it
    not_found: str | None = None  # words that were looked for
    initial_token: Initial[int | None] = field(default_factory=Initial)


class Place(NamedTuple):
    """A point of a picture, as shares of its height and width."""

    picture: str  # by key
    down: float
    across: float


@dataclass
class PatchState:
    """The query and the head on a picture."""

    positions: Hashable = None  # that the query is counted in
    query: int = 0
    place: Place | None = None
    head: Head | None = None
    initial_head: Initial[Head] = field(default_factory=Initial)


@dataclass
class GalleryState:
    """What a page took from its uploader, and the picture that it chose by itself."""

    uploaded: dict[str, str] = field(default_factory=dict)  # names by the uploader's numbers
    newest: str | None = None


@dataclass
class PageState:
    """What a page remembers."""

    cancelled: Request | None = None  # not made again before Run is pressed
    last: Request | None = None  # that gave a result
    pictures: tuple[PictureRef, ...] = ()  # of the last result
    measured: RunRequest | None = None  # whose cost was asked for last
    measure_anew: bool = False
    measuring_cancelled: RunRequest | None = None
    drawing_cancelled: RunRequest | None = None
    file: FileState = field(default_factory=FileState)
    heads: HeadsState = field(default_factory=HeadsState)
    long_text: LongTextState = field(default_factory=LongTextState)
    patches: PatchState = field(default_factory=PatchState)
    gallery: GalleryState = field(default_factory=GalleryState)


@dataclass
class JobState(PageState, Generic[JobT]):
    """A section of a page that starts jobs."""

    run_pressed: bool = True  # the first visit starts by itself
    job: JobT | None = None

    @property
    def busy(self) -> bool:
        """Does its job run or wait?"""
        return self.job is not None and not self.job.finished.is_set()


StateT = TypeVar("StateT", bound=PageState)


def state_of(page: str, kind: type[StateT] = PageState) -> StateT:
    """The state of a page, new at the first visit; a page of its own kind asks first."""
    key = f"{page}_state"
    if key not in st.session_state:
        st.session_state[key] = kind()
    return st.session_state[key]
