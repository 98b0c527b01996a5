"""Regions: the part of a long map that is shown, and how finely it can be shown."""

from typing import Literal, NamedTuple

from core.errors import InputError

Pooling = Literal["max", "mean"]
POOLED = {"max": "largest", "mean": "mean"}  # what a cell of several weights holds


class Region(NamedTuple):
    """Queries and keys in two half-open ranges, counted from the start of their sentences."""

    q: tuple[int, int]
    k: tuple[int, int]

    @property
    def sides(self) -> tuple[int, int]:
        """How many queries and keys there are."""
        return self.q[1] - self.q[0], self.k[1] - self.k[0]

    def moved(self, queries: int, keys: int) -> "Region":
        """The same region so many positions further on."""
        return Region(
            (self.q[0] + queries, self.q[1] + queries), (self.k[0] + keys, self.k[1] + keys)
        )


class CellLayout(NamedTuple):
    """Where the cells of a view lie in a long map."""

    region: Region
    cells: tuple[int, int]  # queries and keys that one cell stands for
    of: tuple[int, int]  # queries and keys of the full map

    @property
    def exact(self) -> bool:
        """Is a cell one weight?"""
        return self.cells == (1, 1)

    def note(self, reduce: Pooling) -> str:
        """What is shown, in words: 'positions 1,024 to 1,535 x 0 to 511, exact'."""
        part, pooled = "", ""
        if self.region.sides != self.of:
            sides = (f"{start:,} to {stop - 1:,}" for start, stop in self.region)
            part = f"positions {' x '.join(sides)}"
        if not self.exact:
            pooled = f"{POOLED[reduce]} weight of each {self.cells[0]} x {self.cells[1]} positions"
        elif part:
            return f"{part}, exact"
        return "; ".join(words for words in (part, pooled) if words)


def cell_layout(
    region: Region | None, of: tuple[int, int], exact_up_to: int, size: int
) -> CellLayout:
    """How a region is shown: cell by cell up to so many positions, beyond in size x size cells.

    Raises:
        ValueError: if the region is empty or reaches beyond the map.
    """
    region = region or Region((0, of[0]), (0, of[1]))
    for name, (start, stop), count in zip("qk", region, of, strict=True):
        if not 0 <= start < stop <= count:
            raise ValueError(f"{name} between 0 and {count} was wanted; {start}:{stop} came")
    if max(region.sides) <= exact_up_to:
        return CellLayout(region, (1, 1), of)
    queries, keys = (-(-side // size) for side in region.sides)
    return CellLayout(region, (queries, keys), of)


def parsed(text: str) -> Region:
    """The region that '1024:1536,0:512' names: queries, then keys.

    Raises:
        InputError: if it names none.
    """
    sides = [side.split(":") for side in text.split(",")]
    numbers = [number.strip() for side in sides for number in side]
    if [len(side) for side in sides] != [2, 2] or not all(map(str.isdecimal, numbers)):
        raise InputError(f"A region such as 1024:1536,0:512 was wanted; '{text}' came.")
    first_q, last_q, first_k, last_k = map(int, numbers)
    return Region((first_q, last_q), (first_k, last_k))
