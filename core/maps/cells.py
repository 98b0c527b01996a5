"""Cells: what the parts of a pooled map are called, and whether a key may be looked at there."""

import numpy as np
import torch
from jaxtyping import Bool, Float

from core.capture.trace import AttentionCall
from core.capture.weights import allowed_rows
from core.maps.blocks import pool
from core.types import Position


def spans(positions: tuple[Position, ...], cell: int) -> tuple[Position, ...]:
    """One position a cell, labelled by its first and last token."""
    cells = [positions[start : start + cell] for start in range(0, len(positions), cell)]
    return tuple(
        Position(part[0].label if len(part) == 1 else f"{part[0].label} … {part[-1].label}")
        for part in cells
    )


def largest_in_cells(
    weights: Float[np.ndarray, "q k"], size: int
) -> Float[np.ndarray, "q_cell k_cell"]:
    """At most size x size cells, each with the largest weight of its part."""
    cells = [np.arange(0, n, -(-n // size)) for n in weights.shape]
    return np.maximum.reduceat(np.maximum.reduceat(weights, cells[0], axis=0), cells[1], axis=1)


def allowed_in_cells(
    call: AttentionCall,
    head: int,
    batch: int,
    ranges: dict[str, tuple[int, int]],
    cells: list[int],
) -> Bool[np.ndarray, "q_cell k_cell"] | None:
    """True where any query of a cell may look at any of its keys; one row of cells at a time."""
    if not call.restricted:
        return None
    start, stop = ranges["q_range"]
    rows = []
    for first in range(start, stop, cells[0]):
        own = slice(first, min(first + cells[0], stop))
        may = allowed_rows(call, head, own, batch)[:, slice(*ranges["k_range"])]
        rows.append(pool(may.any(dim=0, keepdim=True).float(), 1, cells[1], "max") > 0)
    return torch.cat(rows).cpu().numpy()
