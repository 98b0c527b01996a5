"""View: a classification with its pictures, as every section of the CLIP page reads it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from streamlit.delta_generator import DeltaGenerator

from app.components.state import PageState, state_of
from app.services.clip_scores import ClassificationRequest, ClassificationResult
from app.services.pictures import PictureRef
from core.zero_shot.classification import Classification
from core.zero_shot.similarity import Order


@dataclass(frozen=True)
class ClipView:
    """What the sections of the page show."""

    result: ClassificationResult
    pictures: tuple[PictureRef, ...]  # in the order of the scores
    slot: DeltaGenerator  # for progress

    @property
    def request(self) -> ClassificationRequest:
        """What was asked for."""
        return self.result.request

    @property
    def classification(self) -> Classification:
        """The scores, and what they are made of."""
        return self.result.classification


class MatrixOrder(NamedTuple):
    """How the matrix was looked at last, which the downloads follow."""

    request: ClassificationRequest
    order: Order
    value: str


@dataclass
class ClipState(PageState):
    """What the CLIP page remembers beside."""

    linked: bool = False  # the page's address was read
    own_pictures: bool | None = None  # did the visitor give some?
    file_note: str = ""
    least_cosine: float | None = None  # below it a picture is none of these
    link_notes: list[str] = field(default_factory=list)  # names in the address that nothing has
    cell_clicked: bool = False
    matrix: MatrixOrder | None = None


def clip_state() -> ClipState:
    """The state of this page."""
    return state_of("clip", ClipState)
