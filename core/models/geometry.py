"""How a picture and its patches correspond: which part of the original each position stands for."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from core.types import Group, Position


class Box(NamedTuple):
    """A rectangle in pixels; right and bottom lie outside."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True)
class Geometry:
    """What happened to a picture on its way into the model; sizes are (height, width).

    The picture was resized, then cut to `crop`, then read patch by patch. A crop that the patch
    does not divide leaves a margin at its right and bottom that the model never saw.
    """

    original: tuple[int, int]  # after the EXIF turn
    resized: tuple[int, int]
    crop: tuple[int, int, int, int]  # left, top, right, bottom in resized pixels
    patch: tuple[int, int]
    grid: tuple[int, int]  # rows and columns of patches
    prefix: tuple[str, ...] = ()  # positions before the patches: 'CLS', 'DIST', 'register 1', ...

    @property
    def tokens(self) -> int:
        """Number of positions: the prefix, then every patch."""
        return len(self.prefix) + self.grid[0] * self.grid[1]

    def token(self, row: int, column: int) -> int:
        """The position of a patch in the sequence.

        Raises:
            ValueError: if the grid has no such patch.
        """
        rows, columns = self.grid
        if not (0 <= row < rows and 0 <= column < columns):
            raise ValueError(
                f"a patch of a grid of {rows} x {columns} was wanted; ({row}, {column}) came"
            )
        return len(self.prefix) + row * columns + column

    def positions(self) -> tuple[Position, ...]:
        """Every position in the order of the sequence: prefix first, then patches row by row."""
        rows, columns = self.grid
        prefix = tuple(Position(name, special=True) for name in self.prefix)
        patches = tuple(
            Position(f"patch {row},{column}", patch=(row, column))
            for row in range(rows)
            for column in range(columns)
        )
        return prefix + patches

    def coarser(self, grid: tuple[int, int]) -> "Geometry":
        """The same picture in fewer patches, each of several of these.

        Raises:
            ValueError: if that is no whole number of them.
        """
        if any(own % side for own, side in zip(self.grid, grid, strict=True)):
            raise ValueError(f"a grid that divides {self.grid} was wanted; {grid} came")
        height, width = (
            size * own // side for size, own, side in zip(self.patch, self.grid, grid, strict=True)
        )
        return replace(self, grid=grid, patch=(height, width))

    def of_group(self, group: Group) -> "Geometry":
        """The patches of one group: a later stage has fewer and larger ones."""
        row, column = next(key.patch for key in reversed(group.keys[0]) if key.patch is not None)
        return self.coarser((row + 1, column + 1))

    def patch_box(self, row: int, column: int) -> Box:
        """Where a patch lies in the original picture.

        Raises:
            ValueError: if the grid has no such patch.
        """
        self.token(row, column)
        height, width = self.patch
        left, top = column * width, row * height
        return self._in_original(left, top, left + width, top + height)

    @property
    def seen_box(self) -> Box:
        """The part of the original picture that the patches cover; the rest was not seen."""
        rows, columns = self.grid
        return self._in_original(0, 0, columns * self.patch[1], rows * self.patch[0])

    @property
    def whole(self) -> bool:
        """Did the model see all of the picture?"""
        return self.seen_box == (0.0, 0.0, self.original[1], self.original[0])

    def _in_original(self, left: int, top: int, right: int, bottom: int) -> Box:
        """A box in crop pixels, in pixels of the original; padding round the picture is cut off."""
        height, width = self.original

        # Multiplied before it is divided: the far edge comes out as the size itself.
        def across(x: int) -> float:
            return min(max((self.crop[0] + x) * width / self.resized[1], 0.0), float(width))

        def down(y: int) -> float:
            return min(max((self.crop[1] + y) * height / self.resized[0], 0.0), float(height))

        return Box(across(left), down(top), across(right), down(bottom))
