"""Views of a picture: on white, changed at random on another ground, and four in one mosaic."""

import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageEnhance, ImageOps

SIDE = 224  # pixels of a view, both ways
HALF = SIDE // 2
WHITE = (255, 255, 255, 255)


def opened(path: Path) -> Image.Image:
    """A picture with its transparency, no larger than a view."""
    with Image.open(path) as file:
        image = file.convert("RGBA")
    if max(image.size) > SIDE:
        image.thumbnail((SIDE, SIDE), Image.Resampling.BICUBIC, reducing_gap=2)
    return image


def plain_view(image: Image.Image) -> Image.Image:
    """The whole picture as large as it goes, in the middle of a white square."""
    view = Image.new("RGBA", (SIDE, SIDE), WHITE)
    _place(view, image, (0, 0), SIDE)
    return view.convert("RGB")


def changed_view(image: Image.Image, chance: random.Random) -> Image.Image:
    """Mirrored, turned, smaller, elsewhere, in other light: each by chance, on a random ground."""
    if chance.random() < 0.5:
        image = ImageOps.mirror(image)
    if chance.random() < 0.5:
        turn = chance.uniform(-15, 15)
        image = image.rotate(turn, Image.Resampling.BICUBIC, expand=True)
    view = _ground(chance)
    _place(view, image, (0, 0), SIDE * chance.uniform(0.45, 1), chance, SIDE)
    view = view.convert("RGB")
    if chance.random() < 0.3:
        view = ImageEnhance.Color(view).enhance(chance.uniform(0, 1.5))
    if chance.random() < 0.3:
        view = ImageEnhance.Brightness(view).enhance(chance.uniform(0.7, 1.3))
    return view


def mosaic(images: Sequence[Image.Image], chance: random.Random | None = None) -> Image.Image:
    """Four pictures, two by two: on white, or smaller and on a random ground by chance."""
    white = chance is None or chance.random() < 0.4
    view = Image.new("RGBA", (SIDE, SIDE), WHITE) if white else _ground(chance)
    for index, image in enumerate(images):
        corner = (HALF * (index % 2), HALF * (index // 2))
        size = HALF if chance is None else HALF * chance.uniform(0.7, 1)
        _place(view, image, corner, size, chance, HALF)
    return view.convert("RGB")


def _place(
    view: Image.Image,
    image: Image.Image,
    corner: tuple[int, int],
    size: int | float,
    chance: random.Random | None = None,
    room: int | None = None,
) -> None:
    """Paste a picture, its longer side `size`, by chance or in the middle of a square room."""
    room = round(size) if room is None else room
    ratio = size / max(image.size)
    width, height = (max(1, round(side * ratio)) for side in image.size)
    across, down = (0.5, 0.5) if chance is None else (chance.random(), chance.random())
    left = corner[0] + int((room - width) * across)
    top = corner[1] + int((room - height) * down)
    resized = image.resize((width, height), Image.Resampling.BICUBIC)
    view.alpha_composite(resized, (left, top))


def _ground(chance: random.Random) -> Image.Image:
    """White, one colour, or a slope of two with noise."""
    kind = chance.random()
    if kind < 0.3:
        return Image.new("RGBA", (SIDE, SIDE), WHITE)
    if kind < 0.65:
        return Image.new("RGBA", (SIDE, SIDE), _colour(chance))
    first, last = (np.array(_colour(chance)[:3], dtype=float) for _ in range(2))
    rows, columns = np.mgrid[-0.5 : 0.5 : SIDE * 1j, -0.5 : 0.5 : SIDE * 1j]
    angle = chance.uniform(0, 2 * math.pi)
    slope = np.clip(0.5 + columns * math.cos(angle) + rows * math.sin(angle), 0, 1)[..., None]
    noise = np.random.default_rng(chance.randrange(1 << 30)).normal(size=(SIDE, SIDE, 1))
    pixels = first * slope + last * (1 - slope) + chance.choice([0, 8, 20]) * noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).convert("RGBA")


def _colour(chance: random.Random) -> tuple[int, int, int, int]:
    red, green, blue = (chance.randrange(256) for _ in range(3))
    return red, green, blue, 255
