"""Zoom: what the canvas is told of a long map, so that it can ask for another region of it."""

import numpy as np
from jaxtyping import Float

from core.maps.regions import CellLayout
from core.picture.canvas.encode import encode
from core.picture.canvas.views import ViewData


def zoom_data(
    shown: CellLayout, overview: Float[np.ndarray, "q_cell k_cell"] | None = None
) -> ViewData:
    """The region that is shown, and a thumbnail of the whole map to find one's way by."""
    return {
        "region": {
            "q": list(shown.region.q),
            "k": list(shown.region.k),
            "cells": list(shown.cells),
            "of": list(shown.of),
        },
        "overview": None if overview is None else encode(overview),
    }
