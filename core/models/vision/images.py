"""Pictures: any file becomes upright RGB pixels, or one sentence that says why not.

Source: Pillow's notes on modes, https://pillow.readthedocs.io/en/stable/handbook/concepts.html
"""

import io
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from pillow_heif import register_heif_opener

from core.errors import InputError

MAX_BYTES = 50_000_000
# A small file can claim very many. Far below where Pillow starts to warn (89 million), so that ours
# is the only limit met.
MAX_PIXELS = 40_000_000
# Deep grey is scaled in blocks of so many pixels, as whole copies in float64 would take gigabytes.
BLOCK = 1 << 20
# EPS would start Ghostscript on a stranger's file; the rest of Pillow's list nobody brings.
FORMATS = ("PNG", "JPEG", "MPO", "GIF", "WEBP", "BMP", "TIFF", "PPM", "AVIF", "HEIF")
ENDINGS = (
    ".png", ".apng", ".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".webp", ".gif", ".bmp", ".dib",
    ".tif", ".tiff", ".ppm", ".pgm", ".pbm", ".avif", ".heic", ".heif", ".hif",
)  # fmt: skip
ORIENTATION = 0x0112  # the EXIF tag; 1 is upright
UPRIGHT = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
BOX = b"ftyp"  # begins HEIC and AVIF
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
# Of a PNG's optional chunks (small first letter) those that change what is seen: transparency,
# orientation, frames. The others are metadata, and a fault in them says nothing about the pixels.
PNG_SEEN = (b"tRNS", b"eXIf", b"acTL", b"fcTL", b"fdAT")

SAMPLES: dict[str, str] = {
    "chelsea": "A cat",
    "astronaut": "An astronaut",
    "coffee": "A cup of coffee",
    "rocket": "A rocket on its pad",
}


@dataclass(frozen=True)
class Picture:
    """A picture as a person sees it: upright, in colour, without transparency."""

    pixels: Image.Image  # mode RGB
    name: str
    notes: tuple[str, ...] = ()  # one sentence for each thing that had to be changed

    @property
    def size(self) -> tuple[int, int]:
        """Height and width in pixels."""
        return self.pixels.height, self.pixels.width


def open_picture(data: bytes | Path, name: str) -> Picture:
    """The picture in a file, with a note for each thing that had to be changed.

    Raises:
        InputError: if it is too large, not a picture, cut off or damaged; the message names it.
    """
    data = _read(data, name)
    image = _header(data, name)
    if image.width * image.height > MAX_PIXELS:
        raise _too_large(name, f"{image.width:,} x {image.height:,} pixels")
    try:
        notes = []
        if getattr(image, "is_animated", False):
            notes.append(f"'{name}' holds several frames; the first one is shown.")
            image.seek(0)
        image.load()
        turn = UPRIGHT.get(_orientation(image))
        if turn is not None:
            notes.append(f"'{name}' was turned upright, as its EXIF orientation says.")
            image = image.transpose(turn)
        pixels, note = _as_rgb(image, name)
    # A damaged file can make a decoder raise nearly anything.
    except Exception as error:
        raise InputError(f"A whole picture was wanted; '{name}' is cut off or damaged.") from error
    return Picture(pixels, name, (*notes, *note))


def sample_picture(name: str) -> Picture:
    """One of the photographs that come with scikit-image.

    Raises:
        InputError: if there is no sample of that name.
    """
    if name not in SAMPLES:
        raise InputError(f"One of the samples {', '.join(SAMPLES)} was wanted; '{name}' came.")
    from skimage import data  # only samples need it

    return Picture(Image.fromarray(getattr(data, name)()), name)


def _read(data: bytes | Path, name: str) -> bytes:
    try:
        size = len(data) if isinstance(data, bytes) else data.stat().st_size
        if size > MAX_BYTES:
            raise InputError(
                f"A picture of at most {MAX_BYTES // 10**6} MB was wanted; "
                f"'{name}' has {size / 10**6:.0f} MB."
            )
        return data if isinstance(data, bytes) else data.read_bytes()
    except OSError as error:
        raise InputError(
            f"A picture file was wanted; '{name}' cannot be read ({error.strerror})."
        ) from error


def _header(data: bytes, name: str) -> Image.Image:
    """The picture with its header read and nothing decoded yet."""
    Image.init()
    if data[4:8] == BOX:  # Pillow reads AVIF by itself, and HEIC not
        register_heif_opener()
    try:
        formats = [name for name in FORMATS if name in Image.OPEN]
        return Image.open(io.BytesIO(_without_metadata(data)), formats=formats)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise _too_large(name, "more") from error
    except Exception as error:  # plugins let struct.error, SyntaxError and others through
        raise InputError(
            "A PNG, JPEG, GIF, WebP, BMP, TIFF, AVIF or HEIC picture was wanted; "
            f"'{name}' is none of them, or its header is damaged."
        ) from error


def _without_metadata(data: bytes) -> bytes:
    """A PNG with nothing but what its pixels need; Pillow refuses a file for a fault in a comment.

    Other files, and what follows a chunk that is cut off, come back as they are.
    """
    if not data.startswith(PNG_SIGNATURE):
        return data
    parts, start = [PNG_SIGNATURE], len(PNG_SIGNATURE)
    while start + 12 <= len(data):
        stop = start + 12 + int.from_bytes(data[start : start + 4])
        kind = data[start + 4 : start + 8]
        optional = kind[:1].islower()
        sound = zlib.crc32(data[start + 4 : stop - 4]) == int.from_bytes(data[stop - 4 : stop])
        if not optional or (kind in PNG_SEEN and sound):
            parts.append(data[start:stop])
        start = stop
    return b"".join([*parts, data[start:]])


def _orientation(image: Image.Image) -> int:
    """The EXIF orientation; 1, upright, where there is none or nobody can read it."""
    try:
        return image.getexif().get(ORIENTATION, 1)
    except Exception:  # metadata never decides about pixels
        return 1


def _too_large(name: str, claimed: str) -> InputError:
    return InputError(
        f"A picture of at most {MAX_PIXELS // 10**6} million pixels was wanted; "
        f"'{name}' claims {claimed}."
    )


def _as_rgb(image: Image.Image, name: str) -> tuple[Image.Image, tuple[str, ...]]:
    """RGB pixels, and what a plain conversion would have got wrong."""
    if image.mode.startswith(("I", "F")):
        return _eight_bits(image, name)
    if image.has_transparency_data:
        layer = image.convert("RGBA")
        if layer.getchannel("A").getextrema()[0] == 255:
            return layer.convert("RGB"), ()
        white = Image.new("RGBA", layer.size, "white")
        note = f"'{name}' is transparent in places; it was laid on white."
        return Image.alpha_composite(white, layer).convert("RGB"), (note,)
    if image.mode == "CMYK":
        return image.convert("RGB"), (f"'{name}' was converted from CMYK, a print format, to RGB.",)
    return image.convert("RGB"), ()


def _eight_bits(image: Image.Image, name: str) -> tuple[Image.Image, tuple[str, ...]]:
    """Deep grey scaled to 8 bits: Pillow's own conversion clips at 255 and gives white."""
    values = np.asarray(image)
    if image.mode.startswith("I;16"):
        low, high, said = 0.0, 65535.0, "16-bit grey"
    else:
        finite = np.isfinite(values)
        low, high = 0.0, 0.0
        if finite.any():
            some = values.flat[finite.argmax()]
            low = float(values.min(where=finite, initial=some))
            high = float(values.max(where=finite, initial=some))
        said = f"grey from {low:g} to {high:g}"
    factor = 255.0 / (high - low) if high > low else 0.0
    scaled = np.empty(values.shape, np.uint8)
    flat, out = values.reshape(-1), scaled.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        part = flat[start : start + BLOCK].astype(np.float64)
        part = np.nan_to_num(part, copy=False, nan=low, posinf=high, neginf=low)
        part -= low
        part *= factor
        out[start : start + BLOCK] = part.round()
    notes = (f"'{name}' was scaled from {said} to 8 bits.",)
    transparent = image.info.get("transparency")  # of grey a PNG names one value
    if isinstance(transparent, int) and (hidden := values == transparent).any():
        scaled[hidden] = 255
        notes += (f"'{name}' is transparent in places; it was laid on white.",)
    return Image.fromarray(scaled).convert("RGB"), notes
