"""Method: the two readings of a heat map by name, for one label or the difference of two."""

from collections.abc import Sequence
from typing import Literal

from core.explain.heat import (
    Direction,
    Grid,
    relevance_difference,
    relevance_map,
    similarity_difference,
    similarity_map,
)
from core.models.clip import ClipModel
from core.models.run import Prepared

Method = Literal["similarity", "relevance"]
MAPS = {"similarity": similarity_map, "relevance": relevance_map}
DIFFERENCES = {"similarity": similarity_difference, "relevance": relevance_difference}


def explain(
    method: Method,
    model: ClipModel,
    prepared: Prepared,
    directions: Sequence[Direction],
    mechanism: str | None = None,
) -> Grid:
    """The heat map of one direction, or the first's less the second's.

    Raises:
        InputError: if the image tower cannot be read in this way.
        ValueError: if there is neither one direction nor two.
    """
    if len(directions) == 1:
        return MAPS[method](model, prepared, directions[0], mechanism)
    if len(directions) == 2:
        return DIFFERENCES[method](model, prepared, tuple(directions), mechanism)
    raise ValueError(f"one direction or two were wanted; {len(directions)} came")
