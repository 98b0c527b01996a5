"""Heat: a heat map laid on its picture, to keep. As the page shows it, see canvas/photo/heat.js."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, Normalize
from matplotlib.figure import Figure
from PIL import Image

from core.models.geometry import Geometry
from core.models.vision.images import Picture
from core.picture.colours.heat_scale import HeatScale, Middle, heat_scale, shares
from core.picture.colours.palettes import ON_DARK, diverging_table, table
from core.picture.files.export import PICTURE_INCHES, rendered, titled
from core.picture.files.overlay import lay, to_keep

GROUND = (90, 95, 102)  # stands for the dimmed picture below the scale, as on the page


def heat_png(
    picture: Picture,
    geometry: Geometry,
    values: Float[np.ndarray, "row column"],
    title: str,
    palette: str = "cividis",
    *,
    unit: str = "",
    diverging: bool = False,
    middle: Middle = "zero",
    about: Sequence[str] = (),
) -> bytes:
    """The picture with a value for each patch on it, between its title and its scale.

    `unit` is what the value is, `about` the provenance, a line each; see `heat_scale` for the rest.

    Raises:
        ValueError: if the values do not fill the grid, or do not fit the scale.
    """
    if values.shape != tuple(geometry.grid):
        raise ValueError(f"a grid of {geometry.grid} values was wanted; {values.shape} came")
    scale = heat_scale(values, diverging=diverging, middle=middle)
    shown, shown_geometry = to_keep(picture, geometry)
    shown.alpha_composite(heat_overlay(values, scale, shown_geometry, palette))
    width, height = (side / max(shown.size) * PICTURE_INCHES for side in shown.size)
    figure = Figure(figsize=(max(width, 4.0), height + 1.2), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.imshow(shown.convert("RGB"))
    axes.set_axis_off()
    titled(figure, title)
    add_scale(figure, scale, palette, unit)
    return rendered(figure, [title, *about])


def heat_overlay(
    values: Float[np.ndarray, "row column"],
    scale: HeatScale,
    geometry: Geometry,
    palette: str = "cividis",
    opacity: float = 0.8,
) -> Image.Image:
    """RGBA of the original picture's size; clear where the scale is, unseen parts hatched."""
    entry = np.rint(shares(values, scale) * 255).astype(int)
    colours = np.concatenate([heat_table(scale, palette), heat_alpha(scale)[:, None]], axis=1)
    laid = colours[entry]
    laid[..., 3] = np.rint(opacity * laid[..., 3])
    return lay(Image.fromarray(laid), geometry, opacity)


def heat_table(scale: HeatScale, palette: str) -> UInt8[np.ndarray, "256 3"]:
    """The colours over a picture."""
    return diverging_table(ON_DARK) if scale.diverging else table(palette)


def heat_alpha(scale: HeatScale) -> UInt8[np.ndarray, " 256"]:
    """How opaque each of them is."""
    entry = np.arange(256)
    distance = np.maximum(0, np.abs(entry - 127.5) * 2 - 1) if scale.diverging else entry
    return np.minimum(255, 1.25 * distance).astype(np.uint8)


def add_scale(figure: Figure, scale: HeatScale, palette: str, unit: str) -> None:
    """Below the picture: colours as they look on it, numbers, and what has no colour."""
    alpha = heat_alpha(scale)[:, None] / 255
    colours = heat_table(scale, palette) * alpha + np.array(GROUND) * (1 - alpha)
    # A map of one value has no width; a scale needs some.
    high = scale.high if scale.high > scale.low else scale.low + 1e-12
    mappable = ScalarMappable(Normalize(scale.low, high), ListedColormap(colours / 255))
    bar = figure.colorbar(mappable, ax=figure.axes, location="bottom", aspect=40, shrink=0.8)
    ticks = [scale.low, scale.clear, high] if scale.diverging else [scale.low, high]
    sign = "+" if scale.diverging and scale.middle == "zero" else ""
    bar.set_ticks(ticks, labels=[f"{tick:{sign if tick else ''}.3g}" for tick in ticks])
    clear = "0" if scale.middle == "zero" else f"the mean, {scale.clear:.3g}"
    bar.set_label(f"{unit + ' · ' if unit else ''}no colour at {clear}", fontsize=9)
    bar.ax.tick_params(labelsize=8)
