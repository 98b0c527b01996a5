"""Grid: how positions lie in a picture, for mechanisms that attend in two axes."""

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


def check_grid(grid: Grid, keys: int) -> None:
    """Refuse a grid that cannot be that of so many keys.

    Raises:
        ValueError: if it has another number of positions.
    """
    if grid.positions != keys:
        rows, columns, prefix = grid
        raise ValueError(
            f"{grid.positions} keys were wanted ({prefix} of the prefix, and a grid of "
            f"{rows} x {columns} patches); {keys} came"
        )
