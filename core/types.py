"""What passes between the rooms: labels of positions, groups of calls, predictions.

One vocabulary for axes everywhere: `batch layer head q k dim`; q are the positions that look, k the
positions that are looked at.
"""

from dataclasses import dataclass
from typing import NamedTuple


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
