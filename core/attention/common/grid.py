"""Grid: how the positions of a sequence lie in a picture, for mechanisms that see in two axes."""

from typing import NamedTuple


class Grid(NamedTuple):
    """Patches in reading order, after some positions (CLS, registers) that are no patches."""

    rows: int
    columns: int
    prefix: int = 0

    @property
    def positions(self) -> int:
        """The length of the sequence."""
        return self.prefix + self.rows * self.columns
