"""Choices: which part of a run a reader looks at, and what is then shown of it."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from core.maps.regions import CellLayout, Pooling, Region
from core.types import Position


@dataclass(frozen=True)
class Choice:
    """Which part of a run is looked at, and how."""

    group: int = 0
    layer: int = 0
    head: int = 0
    item: int = 0  # which sentence of a batch
    hide_special: bool = False
    by_word: bool = False
    leave_first: bool = False  # without the first token, where many heads of a decoder rest
    reduce: Pooling = "max"  # what a cell of a pooled map holds
    region: Region | None = None  # of a long text; None is all of it

    @property
    def changes_map(self) -> bool:
        """Is the map shown another one than the head's own?"""
        return self.hide_special or self.by_word or self.leave_first


@dataclass(frozen=True)
class HeadView:
    """One head as it is shown: arrays, labels and what was done to them."""

    weights: Float[np.ndarray, "q k"]
    allowed: Bool[np.ndarray, "q k"] | None  # None where every query may look at every key
    queries: tuple[Position, ...]
    keys: tuple[Position, ...]
    note: str = ""
    shown: CellLayout | None = None  # of a long text: where its cells lie


def of_all_heads(choice: Choice) -> Choice:
    """What the mosaic of all heads depends on: the large map alone has a pooling and a region."""
    return replace(choice, layer=0, head=0, reduce="max", region=None)
