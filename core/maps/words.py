"""Other views of one map that is there already: by words, and without some positions."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from core.models.text.labels import word_label
from core.types import Position


class WordsView(NamedTuple):
    """A map whose rows and columns are words."""

    weights: Float[np.ndarray, "word_q word_k"]
    queries: tuple[Position, ...]
    keys: tuple[Position, ...]


def words_view(
    weights: Float[np.ndarray, "q k"], queries: Sequence[Position], keys: Sequence[Position]
) -> WordsView:
    """The map by words: columns of one word are added, its rows are averaged.

    So rows still sum to 1. A row without any weight says nothing and stays out of the average; a
    position without a word stands alone.
    """
    rows, columns = _starts(queries), _starts(keys)
    added = np.add.reduceat(weights, columns, axis=1)
    speaking = np.add.reduceat((weights.sum(axis=1) > 0).astype(weights.dtype), rows)
    averaged = np.add.reduceat(added, rows, axis=0) / np.maximum(speaking, 1)[:, None]
    return WordsView(averaged, words(queries), words(keys))


def words(positions: Sequence[Position]) -> tuple[Position, ...]:
    """One position a word, in the same order; its label is the whole word."""
    bounds = [*_starts(positions).tolist(), len(positions)]
    return tuple(
        positions[start]._replace(
            label=word_label([position.label for position in positions[start:stop]])
        )
        for start, stop in pairwise(bounds)
    )


def without(
    weights: Float[np.ndarray, "q k"],
    keep_q: Bool[np.ndarray, " q"],
    keep_k: Bool[np.ndarray, " k"],
) -> Float[np.ndarray, "kept_q kept_k"]:
    """The map of the kept positions only, each row divided by what is left of it.

    A row whose whole weight lay on hidden keys becomes all zeros.
    """
    weights = weights[np.ix_(keep_q, keep_k)]
    total = weights.sum(axis=1, keepdims=True)
    return np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)


def _starts(positions: Sequence[Position]) -> Int[np.ndarray, " word"]:
    """Where each word begins: neighbours of one word belong together."""
    return np.array(
        [
            index
            for index, position in enumerate(positions)
            if index == 0 or position.word is None or position.word != positions[index - 1].word
        ],
        dtype=np.int64,
    )
