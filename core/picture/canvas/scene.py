"""Scenes: from a run and a choice to what one view of the canvas is given."""

import base64
import io
from collections.abc import Sequence
from typing import Literal

import numpy as np
from jaxtyping import Float
from PIL import Image

from core.maps.head_view import Choice, HeadView, patch_rows
from core.models.geometry import Geometry
from core.models.run import Run
from core.models.text.labels import characters_of_bytes
from core.models.vision.images import Picture
from core.picture.canvas.encode import encode_each, encode_map
from core.picture.canvas.views import (
    CanvasStyle,
    Head,
    Photo,
    Scale,
    ViewData,
    heat_data,
    map_data,
    mosaic_data,
    patches_data,
    sentence_data,
    tokens_data,
)
from core.picture.canvas.zoom import zoom_data
from core.picture.colours.heat_scale import Middle
from core.types import Position

# A page without a server holds one query: it must not invite to choose another.
OFFLINE_STYLE = CanvasStyle(words={"photo_hint": "Colours follow the square root of the weight."})
LONG = 96  # positions beyond which a map opens on the square-root scale
PHOTO_SIDE = 960  # pixels of the longer side of the picture that travels to the browser


def head_scene(
    view: HeadView,
    choice: Choice,
    *,
    run: str,
    form: Literal["map", "arcs"] = "map",
    query: int | None = None,
    scale: Scale | None = None,
    zoom: bool = False,
    overview: Float[np.ndarray, "q_cell k_cell"] | None = None,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """One head as a map or as arcs; `run` is the name that the views of one run share.

    With `zoom`, that of a long text can ask for other regions of itself, and counts its positions
    through the whole text, `query` included; `overview` is a thumbnail of the whole map.
    """
    data = map_data(
        encode_map(view.weights, view.allowed),
        labels(view.queries),
        labels(view.keys),
        run=run,
        view=form,
        selected=Head(choice.layer, choice.head),
        query=query,
        scale=scale or first_scale(view),
        style=style,
    )
    if view.shown:  # its cells stand for several tokens
        return {**data, **zoom_data(view.shown, overview)} if zoom else data
    return {**data, **spelt(query=labels(view.queries), key=labels(view.keys))}


def first_scale(view: HeadView) -> Scale:
    """On a linear scale the many small weights of a long text look empty; zooming changes none."""
    return "sqrt" if view.shown or max(view.weights.shape) > LONG else "linear"


def mosaic_scene(
    mosaic: Float[np.ndarray, "layer head q_cell k_cell"],
    selected: Head,
    *,
    run: str,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """Every head of a group as thumbnails."""
    return mosaic_data(encode_each(mosaic), run=run, selected=selected, style=style)


def sentence_scenes(
    view: HeadView,
    *,
    run: str,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008
) -> list[ViewData]:
    """The sentence; two of them where queries and keys are different sentences."""
    queries, keys = labels(view.queries), labels(view.keys)
    if queries == keys:
        return [{**sentence_data(queries, run=run, style=style), **spelt(key=keys)}]
    return [
        {**sentence_data(queries, run=run, role="queries", style=style), **spelt(key=queries)},
        {**sentence_data(keys, run=run, role="keys", style=style), **spelt(key=keys)},
    ]


def spelt(**sides: list[str]) -> ViewData:
    """For each side that has tokens that are bytes: what these are parts of, by position."""
    found = {
        side: {str(at): whole for at, whole in enumerate(characters_of_bytes(tokens)) if whole}
        for side, tokens in sides.items()
    }
    return {"spelt": found} if any(found.values()) else {}


def patches_scene(
    run: Run,
    shown: Photo,
    query: int,
    selected: Head,
    *,
    looked_at: bool = False,
    group: int = 0,
    name: str,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """A picture with every head's weights for one query of a group of calls."""
    rows = patch_rows(run, query, looked_at=looked_at, group=group)
    queries, keys = run.prepared.groups[group].queries[0], run.prepared.groups[group].keys[0]
    before = [position.label for position in keys if position.patch is None]
    patch = queries[query].patch
    return patches_data(
        rows[:, :, len(before) :],
        shown,
        run=name,
        query=query if patch is None else patch,
        # The query of an attention pool is none of its keys: it has a name, and no weight.
        prefix_labels=before or [position.label for position in queries if position.patch is None],
        prefix=rows[:, :, : len(before)] if before else None,
        direction="to" if looked_at else "from",
        selected=selected,
        style=style,
    )


def relevance_scene(
    heads: Float[np.ndarray, "layer head position"],
    keys: Sequence[Position],
    shown: Photo,
    *,
    run: str,
    title: str,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """A picture with every head's part in a score, which `title` names in place of a query."""
    patches = [index for index, position in enumerate(keys) if position.patch is not None]
    return patches_data(
        heads[:, :, patches],
        shown,
        run=run,
        query=0,
        prefix_labels=[title],
        selected=Head(len(heads) - 1, 0),
        style=style,
    )


def heat_scene(
    values: Float[np.ndarray, "row column"],
    shown: Photo,
    *,
    run: str,
    title: str,
    unit: str,
    diverging: bool = False,
    middle: Middle = "zero",
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """A heat map on a picture; a difference diverges from zero, cosines best from their mean."""
    return heat_data(
        values,
        shown,
        run=run,
        title=title,
        unit=unit,
        diverging=diverging,
        middle=middle,
        style=style,
    )


def token_scene(
    tokens: Sequence[str],
    values: Float[np.ndarray, " token"],
    *,
    run: str,
    unit: str = "relevance",
    diverging: bool = False,
    style: CanvasStyle = CanvasStyle(),  # noqa: B008 immutable
) -> ViewData:
    """The tokens of a prompt, shaded by how much each counts."""
    return tokens_data(tokens, values, run=run, unit=unit, diverging=diverging, style=style)


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
