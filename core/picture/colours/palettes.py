"""Perceptually even, colour-blind-safe colour tables, as the canvas wants them.

Source: the tables that matplotlib ships, https://matplotlib.org/stable/users/explain/colors/colormaps.html
"""

import base64

import matplotlib
import numpy as np
from jaxtyping import UInt8

PALETTES = ("cividis", "viridis", "magma")
# Blue below and orange above the middle: colours that colour-blind people tell apart too.
ON_DARK = "managua_r"  # its ends are bright: for a dimmed picture and a dark page
ON_LIGHT = "PuOr_r"  # its ends are dark


def known(name: str) -> str:
    """The name itself, if it is one of `PALETTES`.

    Raises:
        ValueError: if it is not.
    """
    if name not in PALETTES:
        raise ValueError(f"a palette of {', '.join(PALETTES)} was wanted; {name!r} came")
    return name


def table(name: str) -> UInt8[np.ndarray, "256 3"]:
    """Red, green and blue of 256 steps from dark to bright.

    Raises:
        ValueError: if the name is not one of `PALETTES`.
    """
    return _bytes(known(name))


def diverging_table(ground: str) -> UInt8[np.ndarray, "256 3"]:
    """The same of a table with a quiet middle: `ON_DARK` or `ON_LIGHT`.

    Raises:
        ValueError: if it is neither.
    """
    if ground not in (ON_DARK, ON_LIGHT):
        raise ValueError(f"{ON_DARK} or {ON_LIGHT} was wanted; {ground!r} came")
    return _bytes(ground)


def palette(name: str) -> str:
    """The table's 768 bytes in base64."""
    return packed(table(name))


def packed(colours: UInt8[np.ndarray, "256 3"]) -> str:
    """A table's bytes in base64."""
    return base64.b64encode(colours.tobytes()).decode("ascii")


def _bytes(name: str) -> UInt8[np.ndarray, "256 3"]:
    colours = matplotlib.colormaps[name](np.arange(256), bytes=True)
    return np.ascontiguousarray(colours[:, :3])
