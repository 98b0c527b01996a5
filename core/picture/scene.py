"""Scenes: from a run and a choice to what one view of the canvas is given."""

import base64
import io
from typing import Literal

import numpy as np
from jaxtyping import Float
from PIL import Image

from core.models.geometry import Geometry
from core.models.images import Picture
from core.picture.encode import encode_each, encode_map
from core.picture.views import (
    Head,
    Look,
    Photo,
    ViewData,
    map_data,
    mosaic_data,
    patches_data,
    sentence_data,
)
from core.reading import Choice, HeadView, patch_rows
from core.types import Position, Run

# A page without a server holds one query: it must not invite to choose another.
OFFLINE_LOOK = Look(words={"photo_hint": "Colours follow the square root of the weight."})
LONG = 96  # positions beyond which a map opens on the square-root scale
PHOTO_SIDE = 960  # pixels of the longer side of the picture that travels to the browser


def head_scene(
    view: HeadView,
    choice: Choice,
    *,
    run: str,
    form: Literal["map", "arcs"] = "map",
    query: int | None = None,
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """One head as a map or as arcs; `run` is the name that the views of one run share."""
    return map_data(
        encode_map(view.weights, view.allowed),
        labels(view.queries),
        labels(view.keys),
        run=run,
        view=form,
        selected=Head(choice.layer, choice.head),
        query=query,
        # Many small weights: on a linear scale a long text looks empty.
        scale="sqrt" if max(view.weights.shape) > LONG else "linear",
        look=look,
    )


def mosaic_scene(
    mosaic: Float[np.ndarray, "layer head q_cell k_cell"],
    selected: Head,
    *,
    run: str,
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """Every head of a group as thumbnails."""
    return mosaic_data(encode_each(mosaic), run=run, selected=selected, look=look)


def sentence_scenes(view: HeadView, *, run: str, look: Look = Look()) -> list[ViewData]:  # noqa: B008
    """The sentence; two of them where queries and keys are different sentences."""
    queries, keys = labels(view.queries), labels(view.keys)
    if queries == keys:
        return [sentence_data(queries, run=run, look=look)]
    return [
        sentence_data(queries, run=run, role="queries", look=look),
        sentence_data(keys, run=run, role="keys", look=look),
    ]


def patches_scene(
    run: Run,
    shown: Photo,
    query: int,
    selected: Head,
    *,
    looked_at: bool = False,
    name: str,
    look: Look = Look(),  # noqa: B008 immutable
) -> ViewData:
    """A picture with every head's weights for one position of its sequence."""
    geometry = run.prepared.geometry
    rows = patch_rows(run, query, looked_at=looked_at)
    prefix = len(geometry.prefix)
    return patches_data(
        rows[:, :, prefix:],
        shown,
        run=name,
        query=query if query < prefix else geometry.positions()[query].patch,
        prefix_labels=geometry.prefix,
        prefix=rows[:, :, :prefix],
        direction="to" if looked_at else "from",
        selected=selected,
        look=look,
    )


def photo(picture: Picture, geometry: Geometry) -> Photo:
    """The picture small enough to send, with its original size and what the model saw of it."""
    small = picture.pixels.copy()
    small.thumbnail((PHOTO_SIDE, PHOTO_SIDE), Image.Resampling.LANCZOS)
    file = io.BytesIO()
    small.save(file, format="JPEG", quality=85)
    height, width = picture.size
    url = "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode("ascii")
    return Photo(url, width, height, tuple(geometry.seen_box), geometry.grid)


def labels(positions: tuple[Position, ...]) -> list[str]:
    """What a person reads at each position."""
    return [position.label for position in positions]
