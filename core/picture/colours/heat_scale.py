"""The scale of a heat map: which value has no colour, and which values have the full one."""

from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

Middle = Literal["zero", "mean"]


class HeatScale(NamedTuple):
    """Colours run from `low` to `high`; `clear` has none, so that the page or picture shows."""

    low: float
    clear: float
    high: float
    diverging: bool
    middle: Middle  # what `clear` is


def heat_scale(
    values: Float[np.ndarray, "*shape"], *, diverging: bool, middle: Middle = "zero"
) -> HeatScale:
    """The scale of these values: from 0 to the largest, or alike to both sides of a clear middle.

    A relevance starts at 0. A difference diverges from 0. Cosines of patches lie close together and
    far from 0, so that only how they differ from their mean tells something: they diverge from it.

    Raises:
        ValueError: if a value is not finite, or is negative on a scale that does not diverge.
    """
    if not np.isfinite(values).all():
        raise ValueError("finite values were wanted; some are NaN or infinite")
    least = float(values.min(initial=0.0))
    if not diverging:
        if least < 0:
            raise ValueError(f"values of 0 or more were wanted; the lowest is {least:.3g}")
        return HeatScale(0.0, 0.0, float(values.max(initial=0.0)), False, "zero")
    clear = float(values.mean(dtype=np.float64)) if middle == "mean" else 0.0
    reach = float(np.abs(values - clear).max(initial=0.0))
    return HeatScale(clear - reach, clear, clear + reach, True, middle)


def shares(values: Float[np.ndarray, "*shape"], scale: HeatScale) -> Float[np.ndarray, "*shape"]:
    """Where each value lies between `low` (0) and `high` (1); where all are the same, it is clear.

    A diverging scale has its middle at 0.5.
    """
    width = scale.high - scale.low
    if width <= 0:
        return np.full_like(values, 0.5 if scale.diverging else 0.0)
    return np.clip((values - scale.low) / width, 0.0, 1.0)
