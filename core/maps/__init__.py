"""Maps: what a head attends to, rebuilt exactly from a recorded call, on demand."""

from core.capture.weights import verify
from core.maps.maps import (
    allowed_cells,
    column,
    columns,
    head_map,
    mosaic,
    pooled,
    row,
    rows,
    tile,
)

__all__ = [
    "allowed_cells",
    "column",
    "columns",
    "head_map",
    "mosaic",
    "pooled",
    "row",
    "rows",
    "tile",
    "verify",
]
