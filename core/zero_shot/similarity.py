"""Similarity: the order of a matrix's rows and columns, recall where they are pairs, rankings.

Optimal leaf ordering: Bar-Joseph et al. 2001, https://doi.org/10.1093/bioinformatics/17.suppl_1.S22
"""

from typing import Literal, NamedTuple

import numpy as np
import torch.nn.functional as F
from jaxtyping import Float, Int
from scipy.cluster.hierarchy import leaves_list, linkage
from torch import Tensor

from core.errors import InputError

MOST_CLUSTERED = 2_000  # rows or columns: the work grows faster than their square

How = Literal["given", "sorted", "clustered"]
Matrix = Float[np.ndarray, "row column"]


class Order(NamedTuple):
    """Which row and which column comes first, second, ..."""

    rows: Int[np.ndarray, " row"]
    columns: Int[np.ndarray, " column"]


class Recall(NamedTuple):
    """The share of pictures whose own text is among the first k, and the same the other way."""

    image_to_text: float
    text_to_image: float


class Ranked(NamedTuple):
    """One vector of a ranking."""

    index: int
    cosine: float


def order(matrix: Matrix, how: How, *, symmetric: bool = False) -> Order:
    """The order in which rows and columns are shown.

    'sorted': by the largest cosine of each, largest first; equal ones stay as given. 'clustered':
    by the leaves of average linkage over the Euclidean distance of rows (of columns), neighbours as
    alike as can be. `symmetric`: rows and columns are the same things and keep one order; their
    cosine with themselves does not count for 'sorted'.

    Raises:
        InputError: if there are more than `MOST_CLUSTERED` rows or columns to cluster.
    """
    if how == "given":
        return Order(*(np.arange(side) for side in matrix.shape))
    if how == "sorted" and symmetric:
        matrix = matrix.copy()
        np.fill_diagonal(matrix, -np.inf)
    arrange = largest_first if how == "sorted" else clustered
    rows = arrange(matrix)
    return Order(rows, rows if symmetric else arrange(matrix.T))


def largest_first(matrix: Matrix) -> Int[np.ndarray, " row"]:
    """Rows by their largest value."""
    return np.argsort(-matrix.max(axis=1), kind="stable")


def clustered(matrix: Matrix) -> Int[np.ndarray, " row"]:
    """Rows so that similar ones are neighbours.

    Raises:
        InputError: if there are more than `MOST_CLUSTERED`.
    """
    if len(matrix) > MOST_CLUSTERED:
        raise InputError(
            f"At most {MOST_CLUSTERED:,} pictures or labels can be clustered; "
            f"{len(matrix):,} came: choose another order."
        )
    if len(matrix) < 2:
        return np.arange(len(matrix))
    return leaves_list(linkage(matrix, method="average", optimal_ordering=True)).astype(np.int64)


def recall_at_k(matrix: Matrix, k: int = 1) -> Recall:
    """How often the partner is among the first k, where row i and column i belong together.

    Of equal cosines the one given first comes first.

    Raises:
        ValueError: if there are not as many rows as columns, or k is below 1.
    """
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"as many rows as columns were wanted; {matrix.shape} came")
    if k < 1:
        raise ValueError(f"a k of 1 or more was wanted; {k} came")
    return Recall(found(matrix, k), found(matrix.T, k))


def found(matrix: Float[np.ndarray, "pair pair"], k: int) -> float:
    """The share of rows whose own column is among the k largest."""
    first = np.argsort(-matrix, axis=1, kind="stable")[:, :k]
    return float((first == np.arange(len(matrix))[:, None]).any(axis=1).mean())


def ranking(
    query: Float[Tensor, " dim"], vectors: Float[Tensor, "vector dim"], count: int | None = None
) -> list[Ranked]:
    """Vectors by their cosine with the query, the nearest first; equal ones stay as given.

    `count` keeps the first ones only.
    """
    cosine = F.normalize(vectors.float(), dim=-1) @ F.normalize(query.float(), dim=-1)
    first = cosine.argsort(descending=True, stable=True)[:count]
    return [Ranked(index, float(cosine[index])) for index in first.tolist()]
