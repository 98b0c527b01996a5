"""Export: one head's map as a picture to print, or as numbers with labels and provenance."""

import csv
import io
import json
import textwrap
import warnings
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from matplotlib.axis import Axis
from matplotlib.cm import ScalarMappable
from matplotlib.colors import ListedColormap, PowerNorm
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from PIL import Image

from core.maps.labelled import LabelledMap, Provenance
from core.picture.canvas.views import Scale
from core.picture.colours.palettes import table

MAX_TICKS = 48  # more labels than this on an axis cannot be read; every n-th is drawn
MAX_LETTERS = 20  # of a label on an axis: a longer one would leave no room for the map
LETTERS_AN_INCH = 12  # of a title; more would not fit
PICTURE_INCHES = 8  # the longer side of a picture
PINNED = "#d9480f"  # the accent of a white page
BLEND = 72  # table entries over which white turns into the palette, as in canvas/base/colours.js


def to_npz(labelled: LabelledMap) -> bytes:
    """Arrays `weights`, `rows`, `columns` and the provenance as JSON text in `about`."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        weights=labelled.weights,
        rows=np.array(labelled.rows, dtype=str),
        columns=np.array(labelled.columns, dtype=str),
        about=np.array(json.dumps(asdict(labelled.about), ensure_ascii=False)),
    )
    return file.getvalue()


def to_csv(labelled: LabelledMap) -> bytes:
    """A table: provenance in lines that begin with #, a header of columns, then the rows.

    The provenance is as typed, but that a space parts a comma from a quote after it: a reader that
    knows no comments would take the two for the start of a cell. Labels stand as they are. A
    spreadsheet takes a token such as '=1' for a formula; an apostrophe before it would make it
    another token for every other reader, and no longer the NPZ's label.
    """
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    file.writelines(f"# {line}\r\n".replace(',"', ', "') for line in labelled.about.lines())
    writer.writerow(["looks \\ looked at", *labelled.columns])
    for label, weights in zip(labelled.rows, labelled.weights, strict=True):
        writer.writerow([label, *(f"{weight:.6g}" for weight in weights)])
    # The mark lets spreadsheets see the encoding; a file's name may hold what is no Unicode.
    return file.getvalue().encode("utf-8-sig", errors="replace")


def to_png(
    labelled: LabelledMap,
    palette: str = "cividis",
    *,
    pin: int | None = None,
    scale: Scale = "linear",
) -> bytes:
    """The map with both axes named, a scale with numbers, the provenance, and a frame round a row.

    `scale` says whether colour follows the weight or its square root.
    """
    figure = Figure(figsize=(8, 7.4), dpi=150, layout="constrained")
    axes = figure.subplots()
    top = max(float(labelled.weights.max(initial=0.0)), 1e-12)
    colours = paper_colours(palette)
    norm = PowerNorm(0.5 if scale == "sqrt" else 1.0, 0.0, top)
    picture = axes.imshow(labelled.weights, cmap=colours, norm=norm, interpolation="nearest")
    if pin is not None:
        wide = labelled.weights.shape[1]
        frame = Rectangle((-0.5, pin - 0.5), wide, 1, fill=False, edgecolor=PINNED, linewidth=1.5)
        axes.add_patch(frame)
    label_axis(axes.xaxis, labelled.columns, rotation=90)
    label_axis(axes.yaxis, labelled.rows, rotation=0)
    axes.set_xlabel("keys")
    axes.set_ylabel("queries")
    titled(figure, labelled.about.line())
    figure.colorbar(picture, ax=axes, label="attention weight", shrink=0.8)
    return rendered(figure, labelled.about.lines())


def to_overlay_png(picture: Image.Image, about: Provenance, colours: str, top: float) -> bytes:
    """A picture with weights up to `top` on a square-root scale laid on it, and that scale."""
    width, height = (side / max(picture.size) * PICTURE_INCHES for side in picture.size)
    figure = Figure(figsize=(max(width, 3.0), height + 1.2), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.imshow(picture)
    axes.set_axis_off()
    titled(figure, about.line())
    scale = ScalarMappable(PowerNorm(0.5, 0.0, max(top, 1e-12)), colours)
    bar = figure.colorbar(scale, ax=axes, location="bottom", aspect=40, shrink=0.8)
    bar.set_label("attention weight", fontsize=9)
    bar.ax.tick_params(labelsize=8)
    return rendered(figure, about.lines())


def paper_colours(palette: str) -> ListedColormap:
    """Colours on a white page, as in canvas/base/colours.js: high is dark, zero is the page."""
    share = np.minimum(1.0, np.arange(256) / BLEND)[:, None]
    mixed = 255 + (table(palette)[::-1].astype(float) - 255) * share
    return ListedColormap(np.floor(mixed + 0.5) / 255, palette)


def titled(figure: Figure, line: str) -> None:
    """Write a line over the picture, broken where it would not fit."""
    wide = int(LETTERS_AN_INCH * figure.get_figwidth())
    figure.suptitle(textwrap.fill(line, wide), fontsize=9, parse_math=False)


def label_axis(axis: Axis, labels: Sequence[str], rotation: int) -> None:
    """Label an axis; a dollar sign in a token is a dollar sign, not mathematics."""
    step = max(1, -(-len(labels) // MAX_TICKS))
    shown = range(0, len(labels), step)
    texts = [_short(labels[index]) for index in shown]
    axis.set_ticks(list(shown), texts, rotation=rotation, fontsize=7, parse_math=False)


def _short(label: str) -> str:
    return label if len(label) <= MAX_LETTERS else f"{label[: MAX_LETTERS - 1]}…"


def rendered(figure: Figure, about: Sequence[str]) -> bytes:
    """The picture as PNG, with its whole provenance, a line each, in the file's description."""
    file = io.BytesIO()
    with warnings.catch_warnings():
        # A character that no installed font has is drawn as a box: nothing the caller can mend.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure.savefig(file, format="png", metadata={"Description": "\n".join(about)})
    return file.getvalue()
