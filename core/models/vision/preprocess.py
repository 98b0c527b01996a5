"""From a picture to the tensor a vision transformer was trained on, with the way back to pixels.

Source: timm's evaluation transform,
https://github.com/huggingface/pytorch-image-models/blob/main/timm/data/transforms_factory.py
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from PIL import Image
from timm.data import resolve_data_config
from timm.data.transforms import str_to_pil_interp
from torch import Tensor, nn
from torchvision.transforms.v2 import functional as transforms

from core.errors import InputError
from core.models.geometry import Geometry
from core.models.vision.images import Picture
from core.models.vision.timm_facts import prefix_names


@dataclass(frozen=True)
class Preprocessing:
    """How one model wants its pictures; sizes are (height, width)."""

    size: tuple[int, int]  # what the model was made for
    patch: tuple[int, int]
    prefix: tuple[str, ...]
    mean: tuple[float, ...]
    std: tuple[float, ...]
    interpolation: str
    crop_pct: float  # the crop's share of the resized picture
    squash: bool  # resize without keeping the aspect
    long_side: int | None  # keep the whole picture and its aspect, this long; None: `size`, cropped

    def geometry(self, original: tuple[int, int]) -> Geometry:
        """What will happen to a picture of this size."""
        if self.long_side is None:
            resized, crop = self._cropped(original)
        else:
            resized = self._whole(original)
            crop = (0, 0, resized[1], resized[0])
        left, top, right, bottom = crop
        grid = ((bottom - top) // self.patch[0], (right - left) // self.patch[1])
        return Geometry(original, resized, crop, self.patch, grid, self.prefix)

    def __call__(
        self, picture: Picture
    ) -> tuple[Float[Tensor, "3 height width"], Geometry, tuple[str, ...]]:
        """The tensor, where its patches lie in the picture, and a note on what was changed."""
        geometry = self.geometry(picture.size)
        height, width = geometry.resized
        method = Image.Resampling(str_to_pil_interp(self.interpolation))
        resized = picture.pixels.resize((width, height), method)
        pixels = transforms.pil_to_tensor(resized.crop(geometry.crop))
        pixels = pixels.to(torch.float32) / 255
        pixels = transforms.normalize(pixels, list(self.mean), list(self.std))
        return pixels, geometry, notes(picture.name, geometry)

    def _whole(self, original: tuple[int, int]) -> tuple[int, int]:
        """The aspect kept but for rounding each side to a multiple of the patch."""
        scale = self.long_side / max(original)
        rows, columns = (
            max(1, round(side * scale / patch))
            for side, patch in zip(original, self.patch, strict=True)
        )
        return rows * self.patch[0], columns * self.patch[1]

    def _cropped(self, original: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, ...]]:
        """The model's own way: resize, then cut the middle out; rounding as in torchvision."""
        height, width = (math.floor(side / self.crop_pct) for side in self.size)
        if not self.squash:
            height, width = self._covering(original, height, width)
        top = round((height - self.size[0]) / 2.0)
        left = round((width - self.size[1]) / 2.0)
        return (height, width), (left, top, left + self.size[1], top + self.size[0])

    @staticmethod
    def _covering(original: tuple[int, int], height: int, width: int) -> tuple[int, int]:
        """The smallest size of the same aspect that covers height x width."""
        if height == width:
            short, long = min(original), max(original)
            longer = int(height * long / short)
            return (height, longer) if original[0] <= original[1] else (longer, width)
        ratio = min(original[0] / height, original[1] / width)
        return round(original[0] / ratio), round(original[1] / ratio)


def preprocessing(module: nn.Module, long_side: int | None) -> Preprocessing:
    """What a timm vision transformer says of itself: grid, prefix tokens, resizing, normalising.

    Raises:
        InputError: if it does not read three colours, or its resizing is not known here.
    """
    embed = module.patch_embed
    config = resolve_data_config({"input_size": (3, *embed.img_size)}, model=module)
    channels = getattr(module, "in_chans", 3)
    if channels != 3:
        raise InputError(f"A model of three colours was wanted; this one reads {channels}.")
    if config["crop_mode"] not in ("center", "squash"):
        raise InputError(
            f"A model that crops its pictures 'center' or 'squash' was wanted; this one does "
            f"'{config['crop_mode']}'."
        )
    return Preprocessing(
        size=tuple(embed.img_size),
        patch=tuple(embed.feat_ratio(as_scalar=False)),
        prefix=prefix_names(module),
        mean=tuple(config["mean"]),
        std=tuple(config["std"]),
        interpolation=config["interpolation"],
        crop_pct=config["crop_pct"],
        squash=config["crop_mode"] == "squash",
        long_side=long_side,
    )


def notes(name: str, geometry: Geometry) -> tuple[str, ...]:
    """One sentence on each thing that resizing and cutting changed."""
    said = []
    (height, width), (new_height, new_width) = geometry.original, geometry.resized
    if geometry.original != geometry.resized:
        fit = ", a whole number of patches" if geometry.whole else ""
        said.append(
            f"'{name}' was resized from {height} x {width} to {new_height} x {new_width} pixels "
            f"(height x width){fit}."
        )
    if not geometry.whole:
        seen = geometry.seen_box
        share = (seen.right - seen.left) * (seen.bottom - seen.top) / (height * width)
        said.append(f"The model saw {share:.1%} of '{name}', its middle; the rest was cut off.")
    return tuple(said)
