"""Perceptually even, colour-blind-safe colour tables, as the canvas wants them.

Source: the tables that matplotlib ships, https://matplotlib.org/stable/users/explain/colors/colormaps.html
"""

import base64

import matplotlib
import numpy as np
from jaxtyping import UInt8

PALETTES = ("cividis", "viridis", "magma")


def table(name: str) -> UInt8[np.ndarray, "256 3"]:
    """Red, green and blue of 256 steps from dark to bright.

    Raises:
        ValueError: if the name is not one of `PALETTES`.
    """
    if name not in PALETTES:
        raise ValueError(f"a palette of {', '.join(PALETTES)} was wanted; {name!r} came")
    colours = matplotlib.colormaps[name](np.arange(256), bytes=True)
    return np.ascontiguousarray(colours[:, :3])


def palette(name: str) -> str:
    """The table's 768 bytes in base64."""
    return base64.b64encode(table(name).tobytes()).decode("ascii")
