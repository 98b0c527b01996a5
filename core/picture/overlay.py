"""Overlay: weights of patches laid on the picture at their place, for a picture to keep."""

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw

from core.models.geometry import Geometry
from core.models.images import Picture
from core.picture.export import LabelledMap, to_overlay_png
from core.picture.palettes import table

NOT_SEEN = (128, 128, 128, 190)
HATCH = (90, 90, 90, 255)
HATCH_STEP = 12  # pixels between the lines over what the model did not see


def overlay(
    weights: Float[np.ndarray, "row column"],
    geometry: Geometry,
    palette: str = "cividis",
    opacity: float = 0.75,
) -> Image.Image:
    """RGBA of the original picture's size; strong patches opaque, unseen parts hatched.

    Weights are shown as shares of the largest; a constant map gives a flat overlay.
    """
    height, width = geometry.original
    canvas = _not_seen(width, height)
    top = float(weights.max(initial=0.0))
    share = weights / top if top > 0 else np.zeros_like(weights)
    colours = table(palette)[np.rint(share * 255).astype(int)]
    alpha = np.rint(255 * opacity * share[..., None]).astype(np.uint8)
    patches = Image.fromarray(np.concatenate([colours, alpha], axis=-1))
    left, upper, right, lower = (round(edge) for edge in geometry.seen_box)
    size = max(1, right - left), max(1, lower - upper)
    canvas.paste(patches.resize(size, Image.Resampling.NEAREST), (left, upper))
    return canvas


def overlay_png(
    picture: Picture, geometry: Geometry, row: LabelledMap, palette: str = "cividis"
) -> bytes:
    """The picture with one row of one head laid on it, its provenance above."""
    patches = row.weights[0, len(geometry.prefix) :].reshape(geometry.grid)
    laid = overlay(patches, geometry, palette)
    return to_overlay_png(picture.pixels, laid, row.about.line())


def _not_seen(width: int, height: int) -> Image.Image:
    """Grey with slanted lines; what the model saw is pasted over it."""
    canvas = Image.new("RGBA", (width, height), NOT_SEEN)
    draw = ImageDraw.Draw(canvas)
    for start in range(-height, width, HATCH_STEP):
        draw.line([(start, height), (start + height, 0)], fill=HATCH)
    return canvas
