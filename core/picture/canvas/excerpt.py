"""Excerpt: the passages of a long text that matter to one token, shaded by its exact weights."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from core.maps.long_rows import Passage
from core.picture.canvas.encode import significant
from core.picture.canvas.views import CanvasStyle, ViewData, common
from core.types import Position


def excerpt_data(
    weights: Float[np.ndarray, " k"],
    keys: Sequence[Position],
    shown: Sequence[Passage],
    *,
    query: int,
    label: str,
    run: str,
    chooses: bool = True,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """What the token `label` at position `query` looks at, passage by passage.

    `left_out` holds what the keys before each passage, and after the last, weigh together; a click
    on a token makes it the query where queries and keys are one sentence (`chooses`).
    """
    starts, stops = (0, *(part.stop for part in shown)), (*(p.start for p in shown), len(keys))
    return {
        **common("excerpt", run, style),
        "query": query,
        "label": label,
        "chooses": chooses,
        "count": len(keys),
        "passages": [
            {
                "start": part.start,
                "tokens": [position.label for position in keys[part.start : part.stop]],
                "weights": [significant(weight) for weight in weights[slice(*part)].tolist()],
            }
            for part in shown
        ],
        "left_out": [
            significant(float(weights[start:stop].sum()))
            for start, stop in zip(starts, stops, strict=True)
        ],
    }
