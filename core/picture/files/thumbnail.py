"""Thumbnails: a picture as a data URL of a kilobyte or two, for an axis or a table."""

import base64
import io

from PIL import Image

from core.models.vision.images import Picture

SIDE = 64  # pixels: sharp at half of it on a dense screen
QUALITY = 55  # of WebP: about 1.5 kB for a photograph of this size


def thumbnail(picture: Picture, side: int = SIDE) -> str:
    """A data URL of the whole picture, no longer than `side` pixels on either side."""
    small = picture.pixels.copy()
    small.thumbnail((side, side), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, format="WEBP", quality=QUALITY, method=6)
    return "data:image/webp;base64," + base64.b64encode(file.getvalue()).decode("ascii")
