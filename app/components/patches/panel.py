"""Panel: one head's weights for one query on a picture, and how a page shows it."""

from dataclasses import dataclass

from app.components.state import Place, state_of
from app.services.pictures import PictureRef
from app.services.runs import RunResult
from core.maps import head_view
from core.maps.head_view import Choice
from core.maps.labelled import LabelledMap
from core.models.geometry import Geometry
from core.picture.canvas.views import Head
from core.types import Group, Position

MIDDLE = (0.5, 0.5)  # of the picture


@dataclass(frozen=True)
class PatchPanel:
    """What every part of the page that shows this picture reads."""

    result: RunResult
    picture: PictureRef
    choice: Choice
    query: int
    looked_at: bool  # by the other positions; False: the query looks
    page: str  # what the keys of its widgets begin with

    @property
    def group(self) -> Group:
        """The calls of the head, with their queries and keys."""
        return self.result.run.prepared.groups[self.choice.group]

    @property
    def geometry(self) -> Geometry:
        """Where the patches of the group lie on the picture."""
        return self.result.run.prepared.geometry.of_group(self.group)

    def labelled(self, name: str) -> LabelledMap:
        """The row of the head, or its column, with its names; `name` is the input's."""
        return head_view.labelled_query(
            self.result.run, self.choice, self.query, name, looked_at=self.looked_at
        )


def chosen_query(result: RunResult, group: int, page: str) -> int:
    """The query that was chosen; another stage of the same picture opens at the same place."""
    state, picture = state_of(page).patches, result.request.input
    positions = result.run.prepared.groups[group].queries[0]
    if state.positions != (picture, group, len(positions)):
        state.positions = (picture, group, len(positions))
        same = state.place is not None and state.place.picture == picture
        state.query = first_query(positions, state.place[1:] if same else MIDDLE)
    query = min(state.query, len(positions) - 1)
    if positions[query].patch is not None:
        state.place = Place(picture, *place_of(positions, query))
    return query


def chosen_head(result: RunResult, group: int, page: str) -> Head:
    """The head that was chosen; the last layer's first one before that, or where it is missing."""
    run = result.run
    calls = [run.trace.calls[index] for index in run.prepared.groups[group].calls]
    head = state_of(page).patches.head or Head(len(calls) - 1, 0)
    if head.layer >= len(calls) or head.head >= calls[head.layer].heads:
        return Head(len(calls) - 1, 0)
    return head


def first_query(positions: tuple[Position, ...], place: tuple[float, float]) -> int:
    """CLS or the pool's query, or the patch at a place of the picture where all are patches."""
    if positions[0].patch is None:
        return 0
    rows, columns = (side + 1 for side in positions[-1].patch)
    return int(place[0] * rows) * columns + int(place[1] * columns)


def place_of(positions: tuple[Position, ...], query: int) -> tuple[float, float]:
    """The middle of a patch, as shares of the height and width that the model saw."""
    sides = zip(positions[query].patch, positions[-1].patch, strict=True)
    down, across = ((index + 0.5) / (last + 1) for index, last in sides)
    return down, across
