"""Export: one head's map as a picture to print, or as numbers with labels and provenance."""

import csv
import io
import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
from jaxtyping import Float
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from PIL import Image

MAX_TICKS = 48  # more labels than this on an axis cannot be read; every n-th is drawn


@dataclass(frozen=True)
class Provenance:
    """Where a map comes from; travels with every download."""

    model: str
    mechanism: str  # 'own' or a name in MECHANISMS
    kernel: str
    layer: int
    head: int
    input: str  # the sentence or the file's name
    note: str = ""  # what was done to the map: pooled, special tokens hidden, word view
    versions: dict[str, str] = field(default_factory=dict)

    def line(self) -> str:
        """One line for the foot of a picture."""
        parts = [self.model, f"layer {self.layer}, head {self.head}", self.kernel, self.note]
        return " · ".join(part for part in parts if part)


@dataclass(frozen=True)
class LabelledMap:
    """A map with a label for every row and column."""

    weights: Float[np.ndarray, "q k"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    about: Provenance


def to_npz(labelled: LabelledMap) -> bytes:
    """Arrays `weights`, `rows`, `columns` and the provenance as JSON text in `about`."""
    file = io.BytesIO()
    np.savez_compressed(
        file,
        weights=labelled.weights,
        rows=np.array(labelled.rows),
        columns=np.array(labelled.columns),
        about=np.array(json.dumps(asdict(labelled.about), ensure_ascii=False)),
    )
    return file.getvalue()


def to_csv(labelled: LabelledMap) -> bytes:
    """A table: provenance in lines that begin with #, a header of columns, one line a row."""
    file = io.StringIO()
    for name, value in asdict(labelled.about).items():
        text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else str(value)
        file.write(f"# {name}: {' '.join(text.split())}\n")
    writer = csv.writer(file)
    writer.writerow(["looks \\ looked at", *labelled.columns])
    for label, weights in zip(labelled.rows, labelled.weights, strict=True):
        writer.writerow([label, *(f"{weight:.6g}" for weight in weights)])
    return file.getvalue().encode("utf-8-sig")  # the mark lets spreadsheets see the encoding


def to_png(labelled: LabelledMap, palette: str = "cividis") -> bytes:
    """The map with both axes named, a scale with numbers and the provenance at the foot."""
    figure = Figure(figsize=(8, 7.4), dpi=150, layout="constrained")
    axes = figure.subplots()
    top = max(float(labelled.weights.max(initial=0.0)), 1e-12)
    picture = axes.imshow(
        labelled.weights, cmap=f"{palette}_r", vmin=0.0, vmax=top, interpolation="nearest"
    )
    _ticks(axes.xaxis, labelled.columns, rotation=90)
    _ticks(axes.yaxis, labelled.rows, rotation=0)
    axes.set_xlabel("is looked at")
    axes.set_ylabel("looks")
    axes.set_title(labelled.about.line(), fontsize=9, parse_math=False)
    figure.colorbar(picture, ax=axes, label="attention weight", shrink=0.8)
    return _rendered(figure)


def to_overlay_png(picture: Image.Image, overlay: Image.Image, title: str) -> bytes:
    """A picture with an overlay of the same size, and a title above it."""
    width, height = picture.size
    figure = Figure(figsize=(8, 8 * height / width + 0.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    axes.imshow(picture)
    axes.imshow(overlay)
    axes.set_axis_off()
    axes.set_title(title, fontsize=9, parse_math=False)
    return _rendered(figure)


def _ticks(axis: Axis, labels: Sequence[str], rotation: int) -> None:
    """Label an axis; a dollar sign in a token is a dollar sign, not mathematics."""
    step = -(-len(labels) // MAX_TICKS)
    shown = range(0, len(labels), step)
    texts = [labels[index] for index in shown]
    axis.set_ticks(list(shown), texts, rotation=rotation, fontsize=7, parse_math=False)


def _rendered(figure: Figure) -> bytes:
    file = io.BytesIO()
    with warnings.catch_warnings():
        # A character that no installed font has is drawn as a box: nothing the caller can mend.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.savefig(file, format="png")
    return file.getvalue()
