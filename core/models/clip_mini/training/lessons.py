"""What one step of training sees: random places of random views, and a random caption of each."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Float16, Int
from torch import Tensor, nn

from core.models.clip_mini.conse import Conse
from core.models.clip_mini.training.features import Maps, unfinished
from core.models.clip_mini.training.imagined import TOP, Imagination

GRID = (7, 7)
PLACES = GRID[0] * GRID[1]
ROW, COLUMN = np.divmod(np.arange(PLACES), GRID[1])
# The quadrant of each place of a mosaic; -1 for the middle row and column, which two share.
QUADRANT = torch.tensor(
    np.where((ROW == 3) | (COLUMN == 3), -1, 2 * (ROW > 3) + (COLUMN > 3)), dtype=torch.long
)


class Said(NamedTuple):
    """What may be said of one picture."""

    names: tuple[int, ...]  # rows of the embedded texts: its name in each template
    others: tuple[int, ...]  # rows of other words for it
    concept: int  # the same number for pictures of one name


class Lesson(NamedTuple):
    """One batch."""

    features: Float[Tensor, "batch position features"]
    places: Int[Tensor, "batch position"]
    texts: Float[Tensor, "text dim"]  # a caption of each picture; of each quadrant of a mosaic
    concepts: Int[Tensor, " text"]


@dataclass(frozen=True)
class Lessons:
    """Everything that is learned from."""

    lite0: nn.Module
    views: Sequence[Maps]  # each has a row for every picture of the catalogue
    mosaics: Float16[np.ndarray, "mosaic *place channel"]
    quadrants: Sequence[Sequence[int]]  # the four pictures of each mosaic
    pictures: Sequence[int]  # those that are learned from
    said: dict[int, Said]  # by picture
    texts: Float[Tensor, "text dim"]
    names: Float[Tensor, "concept dim"]  # the embedded name of each concept
    imagination: Imagination
    conse: Conse  # knows the embedded names of lite0's classes
    share: float  # of ConSE in the vector of a picture
    places: int = 20  # of a map that are read at a time
    name_share: float = 0.5  # how often a caption is the name and not another word

    def of_pictures(self, pictures: Sequence[int], chance: torch.Generator) -> Lesson:
        """One view of each picture."""
        drawn, places = self._some(self._views_of(pictures, chance), chance)
        return Lesson(drawn.clamp(0, TOP), places, *self._spoken(pictures, chance))

    def of_mosaics(self, count: int, chance: torch.Generator) -> Lesson:
        """Random mosaics; texts and concepts are those of their quadrants, one after the other."""
        chosen = torch.randint(len(self.quadrants), (count,), generator=chance).tolist()
        shown = [picture for mosaic in chosen for picture in self.quadrants[mosaic]]
        drawn, places = self._some(self.mosaics[chosen], chance)
        return Lesson(drawn.clamp(0, TOP), places, *self._spoken(shown, chance))

    def of_imagination(self, count: int, chance: torch.Generator) -> Lesson:
        """Made up photographs of lite0's classes; their concepts are the classes."""
        names = self.conse.names
        classes = torch.randint(len(names), (count,), generator=chance)
        drawn, places = self._some(self._views_of(self._any(count, chance), chance), chance)
        features = self.imagination(drawn, classes, chance)
        return Lesson(features, places, names[classes], classes)

    def _any(self, count: int, chance: torch.Generator) -> list[int]:
        chosen = torch.randint(len(self.pictures), (count,), generator=chance).tolist()
        return [self.pictures[index] for index in chosen]

    def _views_of(self, pictures: Sequence[int], chance: torch.Generator) -> Maps:
        chosen = torch.randint(len(self.views), (len(pictures),), generator=chance).tolist()
        return np.stack([self.views[view][one] for view, one in zip(chosen, pictures, strict=True)])

    def _some(
        self, maps: Maps, chance: torch.Generator
    ) -> tuple[Float[Tensor, "batch position features"], Int[Tensor, "batch position"]]:
        """Some places of each map: less to compute, and never the same picture twice."""
        order = torch.rand(len(maps), PLACES, generator=chance).argsort(dim=1)
        places = order[:, : self.places]
        flat = maps.reshape(len(maps), PLACES, -1)
        parts = np.take_along_axis(flat, places.numpy()[..., None], axis=1)
        return unfinished(parts, self.lite0), places

    def _spoken(
        self, pictures: Sequence[int], chance: torch.Generator
    ) -> tuple[Float[Tensor, "text dim"], Int[Tensor, " text"]]:
        said = [self.said[picture] for picture in pictures]
        rolls = torch.rand(len(said), 2, generator=chance).tolist()
        rows = []
        for one, (which, place) in zip(said, rolls, strict=True):
            choices = one.names if which < self.name_share or not one.others else one.others
            rows.append(choices[int(place * len(choices))])
        return self.texts[rows], torch.tensor([one.concept for one in said])
