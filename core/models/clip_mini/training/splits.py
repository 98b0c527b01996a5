"""Which concepts are learned from, and which are kept to measure with: told apart by head noun."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from core.models.clip_mini.training.catalogue import Item

FOLDS = 7
HELD_OUT = frozenset({0, 1})  # what the bars are measured on; nothing is chosen by it
VALIDATION = frozenset({2, 3})  # what choices are made by; learned from in the end
# A noun of this many names ('face', 'hand', 'button') would be a third of a list by itself.
MOST_NAMES = 12


@dataclass(frozen=True)
class Split:
    """Indices into the catalogue."""

    train: tuple[int, ...]
    measured: tuple[int, ...]  # emoji only
    words: frozenset[str]  # names and head nouns of what is measured: no caption may say them


def split(items: Sequence[Item], measured: frozenset[int], unused: frozenset[int]) -> Split:
    """The pictures to learn from and those to measure with.

    Args:
        items: the catalogue.
        measured: folds of the emoji to measure with.
        unused: folds that are not learned from either.
    """
    names = Counter(
        head for head, _ in {(item.heads[0], item.name) for item in items if item.is_emoji}
    )

    def folds(item: Item) -> set[int]:
        heads = item.heads if item.is_emoji else {item.heads[0], *(names.keys() & item.heads)}
        return {fold(head, names[head]) for head in heads}

    kept = [index for index, item in enumerate(items) if item.is_emoji and folds(item) & measured]
    away = measured | unused
    hidden = [item for item in items if item.is_emoji and folds(item) & away]
    return Split(
        train=tuple(index for index, item in enumerate(items) if not folds(item) & away),
        measured=tuple(kept),
        words=frozenset(word for item in hidden for word in (item.name, item.heads[0])),
    )


def fold(head: str, names: int) -> int:
    """The fold of a noun that heads so many names; the same on every machine."""
    if names > MOST_NAMES:
        return FOLDS - 1
    return int(hashlib.sha256(head.encode()).hexdigest(), 16) % FOLDS


def captions(item: Item, unsaid: frozenset[str]) -> tuple[str, ...]:
    """The name, then the other words for a picture, without those that may not be said."""
    return (item.name, *(word for word in item.keywords if word not in unsaid))
