"""From a picture to the tensor that an open_clip model was trained on, with the way back.

Source: open_clip's evaluation transform, which makes the tensor itself,
https://github.com/mlfoundations/open_clip/blob/main/src/open_clip/transform.py
"""

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from open_clip.transform import PreprocessCfg, image_transform_v2
from torch import Tensor
from torchvision.transforms import Compose

from core.models.clip.facts import size_of
from core.models.geometry import Geometry
from core.models.vision.images import Picture
from core.models.vision.preprocess import notes


@dataclass(frozen=True)
class Pixels:
    """How one model wants its pictures; sizes are (height, width)."""

    config: PreprocessCfg
    patch: tuple[int, int]
    grid: tuple[int, int]
    prefix: tuple[str, ...]

    @cached_property
    def transform(self) -> Compose:
        """The library's own."""
        return image_transform_v2(self.config, is_train=False)

    def __call__(self, picture: Picture) -> Float[Tensor, "3 height width"]:
        """The tensor, exactly as open_clip makes it."""
        return self.transform(picture.pixels)

    def geometry(self, original: tuple[int, int]) -> Geometry:
        """What happens to a picture of this size."""
        resized, crop = self._placed(original)
        return Geometry(original, resized, crop, self.patch, self.grid, self.prefix)

    def notes(self, picture: Picture) -> tuple[str, ...]:
        """One sentence on each thing that resizing, cutting and filling changed."""
        geometry = self.geometry(picture.size)
        if self.config.resize_mode != "longest" or geometry.resized == size_of(self.config):
            return notes(picture.name, geometry)
        (height, width), (new_height, new_width) = geometry.original, geometry.resized
        size = " x ".join(map(str, size_of(self.config)))
        return (
            f"'{picture.name}' was resized from {height} x {width} to {new_height} x {new_width} "
            f"pixels (height x width) and filled up to {size}.",
        )

    def _placed(
        self, original: tuple[int, int]
    ) -> tuple[tuple[int, int], tuple[int, int, int, int]]:
        """The size after resizing, and the part of it that is kept (beyond it where it is filled).

        Rounding is that of torchvision and of open_clip, one pixel matters.
        """
        size, mode = size_of(self.config), self.config.resize_mode
        if mode == "squash":
            resized = size
        elif mode == "shortest" and size[0] == size[1]:
            short, long = min(original), max(original)
            longer = int(size[0] * long / short)
            resized = (size[0], longer) if original[0] <= original[1] else (longer, size[0])
        else:
            ratios = [side / new for side, new in zip(original, size, strict=True)]
            ratio = max(ratios) if mode == "longest" else min(ratios)
            resized = tuple(round(side / ratio) for side in original)
        top, left = (_first(side, new) for side, new in zip(resized, size, strict=True))
        return resized, (left, top, left + size[1], top + size[0])


def _first(side: int, wanted: int) -> int:
    """Where a centred piece of the wanted length begins; before 0 where the side is shorter."""
    if side < wanted:
        return -((wanted - side) // 2)
    return int(round((side - wanted) / 2.0))
