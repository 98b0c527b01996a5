"""Overlay: weights of patches laid on the picture at their place, for a picture to keep.

As the page shows it, see canvas/photo/photo.js: the picture is dimmed, colours follow the square
root of a share of the largest weight, weak ones are see-through, and what was not seen is hatched.
"""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from PIL import Image, ImageDraw

from core.maps.labelled import LabelledMap
from core.models.geometry import Geometry
from core.models.vision.images import Picture
from core.picture.colours.palettes import table
from core.picture.files.export import to_overlay_png

LONG_SIDE = 1200  # pixels of the picture to keep: the same hatching and labels on any original
DIMMED = 0.55  # how much of black is laid on the picture at full opacity
NOT_SEEN = (128, 128, 128, 184)
HATCH = (255, 255, 255, 140)
RING = (232, 89, 12)  # the accent of the pages
HATCH_STEP = 12  # pixels between the lines over what the model did not see


def overlay(
    weights: Float[np.ndarray, "row column"],
    geometry: Geometry,
    palette: str = "cividis",
    opacity: float = 0.8,
) -> Image.Image:
    """RGBA of the original picture's size; strong patches opaque, unseen parts hatched.

    Weights are shown as shares of the largest; a constant map gives a flat overlay.
    """
    return lay(_patches(weights, palette, opacity), geometry, opacity)


def lay(patches: Image.Image, geometry: Geometry, opacity: float) -> Image.Image:
    """Patches, one pixel each, at their place over a dimming; unseen parts hatched."""
    height, width = geometry.original
    left, upper, right, lower = (round(edge) for edge in geometry.seen_box)
    left, upper = min(left, width - 1), min(upper, height - 1)
    seen = left, upper, max(right, left + 1), max(lower, upper + 1)
    laid = Image.new("RGBA", (width, height), (0, 0, 0, round(255 * DIMMED * opacity)))
    size = seen[2] - left, seen[3] - upper
    laid.alpha_composite(patches.resize(size, Image.Resampling.NEAREST), (left, upper))
    if seen != (0, 0, width, height):
        hidden = _hatched(width, height)
        hidden.paste((0, 0, 0, 0), seen)
        laid.alpha_composite(hidden)
    return laid


def overlay_png(
    picture: Picture,
    geometry: Geometry,
    row: LabelledMap,
    palette: str = "cividis",
    query: tuple[int, int] | None = None,
) -> bytes:
    """The picture with one row or column of a head on it, between its provenance and its scale.

    `query` is the row and column of a patch to ring.
    """
    rows, columns = geometry.grid  # the patches come last, behind CLS and the like
    patches = row.weights.reshape(-1)[-rows * columns :].reshape(geometry.grid)
    shown, shown_geometry = to_keep(picture, geometry)
    shown.alpha_composite(overlay(patches, shown_geometry, palette))
    if query is not None:
        box = [round(edge) for edge in shown_geometry.patch_box(*query)]
        ImageDraw.Draw(shown).rectangle(box, outline=RING, width=3)
    top = float(patches.max(initial=0.0))
    return to_overlay_png(shown.convert("RGB"), row.about, palette, top)


def to_keep(picture: Picture, geometry: Geometry) -> tuple[Image.Image, Geometry]:
    """RGBA of the picture at the size that is kept, and the geometry that fits it."""
    scale = LONG_SIDE / max(picture.pixels.size)
    width, height = (max(1, round(side * scale)) for side in picture.pixels.size)
    shown = picture.pixels.resize((width, height), Image.Resampling.LANCZOS).convert("RGBA")
    return shown, replace(geometry, original=(height, width))


def _patches(weights: Float[np.ndarray, "row column"], palette: str, opacity: float) -> Image.Image:
    """One pixel a patch."""
    top = float(weights.max(initial=0.0))
    share = np.sqrt(weights / top) if top > 0 else np.zeros_like(weights)
    entry = np.rint(share * 255).astype(int)
    alpha = np.rint(opacity * np.minimum(255, 1.25 * entry))[..., None].astype(np.uint8)
    return Image.fromarray(np.concatenate([table(palette)[entry], alpha], axis=-1))


def _hatched(width: int, height: int) -> Image.Image:
    """Grey with slanted lines."""
    grey = Image.new("RGBA", (width, height), NOT_SEEN)
    lines = Image.new("RGBA", (width, height))
    draw = ImageDraw.Draw(lines)
    for start in range(-height, width, HATCH_STEP):
        draw.line([(start, height), (start + height, 0)], fill=HATCH)
    return Image.alpha_composite(grey, lines)
