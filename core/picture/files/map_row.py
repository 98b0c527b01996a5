"""The maps of one head by several mechanisms, side by side: views, a picture, and numbers."""

import csv
import io
import json
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import PowerNorm
from matplotlib.figure import Figure

from core.attention import MECHANISMS
from core.maps.by_mechanism import HeadMap, MapRow
from core.maps.cells import spans
from core.picture.canvas.encode import encode_map
from core.picture.canvas.scene import labels
from core.picture.canvas.views import CanvasStyle, ViewData, map_data
from core.picture.files.export import paper_colours, rendered, titled
from core.types import Position

A_LINE = 4  # maps side by side in the picture
INCHES = 3.2  # of a map
MANY = 48  # positions beyond which small maps show their small weights on a root scale only
LABELS = 16  # of an axis: smaller maps than a single one's have room for fewer
LETTERS = 40  # of a line over a map


def row_scenes(
    row: MapRow, positions: tuple[Position, ...], *, run: str, style: CanvasStyle
) -> list[ViewData]:
    """One view a map, all on the scale of the largest weight; a row that is pinned is in all."""
    names = labels(spans(positions, row.cell))
    return [
        map_data(
            encode_map(each.weights, row.allowed, row.top), names, names, run=run, style=style,
            scale="sqrt" if len(positions) > MANY else "linear",
        )
        for each in row.maps
    ]  # fmt: skip


def row_png(
    row: MapRow, positions: tuple[Position, ...], about: Sequence[str], palette: str
) -> bytes:
    """All maps on one scale, the total variation over each; `about` stands at the top and inside.

    Args:
        row: the maps.
        positions: labels of rows and columns.
        about: where the maps come from, one line each.
        palette: one of `PALETTES`.
    """
    names = labels(spans(positions, row.cell))
    lines = -(-len(row.maps) // A_LINE)
    wide = min(len(row.maps), A_LINE)
    size = (max(INCHES * wide, 5.0), (INCHES + 0.9) * lines + 0.6)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    all_axes = figure.subplots(lines, wide, squeeze=False).ravel().tolist()
    # Many small weights: on a linear scale a long text looks empty.
    scale = PowerNorm(0.5 if len(positions) > MANY else 1.0, 0.0, max(row.top, 1e-12))
    colours = paper_colours(palette)
    for axes in all_axes[len(row.maps) :]:
        axes.set_axis_off()
    for axes, each in zip(all_axes, row.maps, strict=False):
        axes.imshow(each.weights, cmap=colours, norm=scale, interpolation="nearest")
        about_it = f"{textwrap.fill(title(each), LETTERS)}\ntotal variation {each.variation:.3f}"
        axes.set_title(about_it, fontsize=8, parse_math=False)
        for axis, rotation in ((axes.xaxis, 90), (axes.yaxis, 0)):
            _label(axis, names, rotation)
    titled(figure, f"{' · '.join(about)} · row looks at column")
    bar = figure.colorbar(ScalarMappable(scale, colours), ax=all_axes, shrink=0.6)
    bar.set_label("attention weight")
    return rendered(figure, about)


def _label(axis: Axis, names: list[str], rotation: int) -> None:
    shown = range(0, len(names), -(-len(names) // LABELS))
    texts = [textwrap.shorten(names[index], LETTERS, placeholder="…") for index in shown]
    axis.set_ticks(list(shown), texts, rotation=rotation, fontsize=5, parse_math=False)


def row_npz(row: MapRow, positions: tuple[Position, ...], about: Sequence[str]) -> bytes:
    """An array for each map, by the names of its mechanisms; labels, variations and origin."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        positions=np.array(labels(spans(positions, row.cell)), dtype=str),
        total_variation=np.array(
            json.dumps({"+".join(each.mechanisms): each.variation for each in row.maps})
        ),
        about=np.array("\n".join(about)),
        **{"+".join(each.mechanisms): each.weights for each in row.maps},
    )
    return file.getvalue()


def row_csv(row: MapRow, positions: tuple[Position, ...], about: Sequence[str]) -> bytes:
    """The origin in lines that begin with #, then the rows of all maps, one map after another."""
    names = labels(spans(positions, row.cell))
    file = io.StringIO(newline="")
    file.writelines(f"# {line}\r\n" for line in about)
    writer = csv.writer(file)
    writer.writerow(["mechanism", "total variation", "looks \\ looked at", *names])
    for each in row.maps:
        for name, weights in zip(names, each.weights, strict=True):
            numbers = (f"{weight:.6g}" for weight in weights)
            writer.writerow(["+".join(each.mechanisms), f"{each.variation:.6g}", name, *numbers])
    return file.getvalue().encode("utf-8-sig", errors="replace")


def title(each: HeadMap) -> str:
    """The names of the mechanisms that have this map."""
    return ", ".join(MECHANISMS[mechanism].title for mechanism in each.mechanisms)
