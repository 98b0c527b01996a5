"""Cells: what the parts of a pooled map are called, and whether a query may attend there."""

import numpy as np
import torch
from jaxtyping import Bool, Float

from core.attention.common.visibility import causal
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
    region: tuple[tuple[int, int], tuple[int, int]],
    cells: tuple[int, int],
) -> Bool[np.ndarray, "q_cell k_cell"] | None:
    """True where any query of a cell may attend to any of its keys; None where all may.

    Args:
        call: one of attention.
        head: counted from 0.
        batch: which sequence.
        region: half-open ranges of queries and of keys of the call, padding included.
        cells: how many queries and how many keys a cell stands for.
    """
    if not call.restricted:
        return None
    (start, stop), keys = region
    if call.mask is None and call.windows is None:  # causal: known without the rows between
        last = (torch.arange(start, stop, cells[0]) + cells[0]).clamp(max=stop) - 1
        return causal(last[:, None], torch.arange(*keys, cells[1])).numpy()
    rows = []
    for first in range(start, stop, cells[0]):  # one row of cells at a time
        queries = slice(first, min(first + cells[0], stop))
        may = allowed_rows(call, head, queries, batch)[:, slice(*keys)]
        rows.append(pool(may.any(dim=0, keepdim=True).float(), 1, cells[1], "max") > 0)
    return torch.cat(rows).cpu().numpy()
