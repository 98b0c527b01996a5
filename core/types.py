"""What passes between the rooms: labels of positions, groups of calls, the result of a run.

One vocabulary for axes everywhere: `batch layer head q k dim`; q are the positions that look, k the
positions that are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from torch import Tensor

if TYPE_CHECKING:
    from core.attention.grid import Grid
    from core.models.geometry import Geometry
    from core.trace import Trace


class Position(NamedTuple):
    """One position of the sequence, as a person reads it."""

    label: str  # token text, 'CLS', 'register 2', 'patch 3,7'
    special: bool = False  # CLS, SEP, registers, ...: not text and not a patch
    word: int | None = None  # which word of the sentence the token belongs to
    patch: tuple[int, int] | None = None  # row and column in the patch grid


class Prediction(NamedTuple):
    """One next token or class label, and its probability."""

    label: str
    probability: float


@dataclass(frozen=True)
class Group:
    """Attention calls of one kind, with one label for every query and key.

    An encoder or a decoder has one group; an encoder-decoder has three.
    """

    name: str  # 'self-attention', 'encoder', 'decoder', 'cross-attention'
    calls: tuple[int, ...]  # index into trace.calls, one a layer
    queries: tuple[tuple[Position, ...], ...]  # per batch item, cut to its own length
    keys: tuple[tuple[Position, ...], ...]
    first_query: tuple[
        int, ...
    ] = ()  # per batch item, where its own positions start (left padding)
    first_key: tuple[int, ...] = ()


@dataclass(frozen=True)
class Prepared:
    """An input made ready for one model: tensors, labels, and what had to be changed."""

    tensors: dict[str, Tensor]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()  # one sentence each: what was cut, resized, merged
    texts: tuple[str, ...] = ()  # text models: what the model read, one a batch item
    cut: tuple[str, ...] = ()  # text models: the end of each text that it did not read
    geometry: Geometry | None = None  # vision models
    grid: Grid | None = None  # vision models: how the positions lie in the picture


@dataclass(frozen=True)
class Output:
    """What the model gave."""

    hidden: Tensor  # (batch, position, dim): the last hidden states, or logits where there are none
    embedding: Tensor  # (batch, dim)
    predictions: tuple[tuple[Prediction, ...], ...] = ()  # per batch item: next tokens or labels
    # (batch, position, dim): what the decoder of an encoder-decoder gives, scores if it has a head
    decoded: Tensor | None = None


@dataclass(frozen=True)
class Run:
    """One forward pass, kept: enough to draw any map of it without running the model again."""

    model: str
    mechanism: str | None  # None: the model's own kernel
    trace: Trace
    prepared: Prepared
    output: Output
    versions: dict[str, str] = field(default_factory=dict)
