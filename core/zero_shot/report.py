"""Report: all scores as a picture, and as one page that opens anywhere without a network."""

import base64
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Literal

import numpy as np
from jaxtyping import Float
from matplotlib import font_manager
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure

from core.picture.colours.palettes import table
from core.picture.files.export import label_axis, rendered, titled
from core.picture.files.html import PAGE_STYLE
from core.zero_shot.scores import Scores
from core.zero_shot.similarity import Order
from core.zero_shot.table import Settings

FIRST = 5  # labels of each picture
MOST_PICTURES = 300  # of the page: with small pictures of 10 kB it stays under a few megabytes
MOST_CELLS = 3_000  # of a matrix in numbers; a larger one nobody reads cell by cell
# Fonts with Chinese, Japanese and Korean letters, which matplotlib's own has not.
MORE_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Micro Hei", "WenQuanYi Zen Hei",
    "Droid Sans Fallback", "Unifont", "PingFang SC", "Microsoft YaHei", "Malgun Gothic",
)  # fmt: skip
INCHES_A_CELL = 0.24
LEAST_INCHES, MOST_INCHES = 2.0, 12.0

Shown = Literal["cosine", "probability"]

# No script at all, and nothing that the page could load or send.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
td, th { padding: 3px 8px; text-align: left; font-weight: 400; vertical-align: middle; }
h2 { margin: 28px 0 8px; font-size: 16px; }
.first tr { border-top: 1px solid color-mix(in srgb, currentColor 18%, transparent); }
.first td { overflow-wrap: anywhere; }
.first img { display: block; max-width: 120px; max-height: 96px; margin-bottom: 2px;
  border-radius: 3px; }
.first table tr { border: 0; }
.quiet { opacity: 0.7; }
.number { text-align: right; white-space: nowrap; }
.bar { display: block; height: 6px; min-width: 1px; background: #b07d2b; border-radius: 2px; }
.track { width: 90px; }
.wide { overflow-x: auto; }
.matrix td { padding: 2px 6px; text-align: right; font-size: 12px; }
.matrix thead th { writing-mode: vertical-rl; transform: rotate(180deg); max-height: 180px;
  padding: 6px 2px; vertical-align: middle; font-size: 12px; }
.matrix tbody th { max-width: 180px; overflow-wrap: anywhere; font-size: 12px; }
.paper { max-width: 100%; border-radius: 4px; }
@media (max-width: 480px) { .track { display: none; } .first td { padding: 3px 4px; }
  .first img { max-width: 72px; } }"""

PAGE = Template("""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="$policy">
<title>$title</title>
<style>
$style
</style>
</head>
<body>
<h1>$title</h1>
<details open><summary>Settings</summary><pre>$settings</pre></details>
<h2>First labels of each picture</h2>
$first
<h2>Every $shown</h2>
<div class="wide">$matrix</div>
</body>
</html>
""")


def clip_html(
    scores: Scores,
    pictures: Sequence[str],
    thumbnails: Sequence[str],
    settings: Settings,
    palette: str = "cividis",
    *,
    order: Order | None = None,
    shown: Shown = "cosine",
) -> str:
    """Settings, the first labels of each picture, and the matrix, as one page.

    `pictures` are names, `thumbnails` small pictures as data URLs, one each. `order` and `shown` as
    in `matrix_png`.

    Raises:
        ValueError: if probabilities are to be shown and there are none.
    """
    title = f"{settings.model}: {len(pictures)} pictures, {len(scores.labels)} labels"
    lines = [*settings.lines(), *([scores.note] if scores.note else [])]
    return PAGE.substitute(
        policy=escape(POLICY),
        title=escape(title),
        style=f"{PAGE_STYLE}\n{STYLE}",
        settings=escape("\n".join(lines)),
        first=first_labels(scores, pictures, thumbnails),
        shown=shown,
        matrix=matrix(scores, pictures, settings, palette, order=order, shown=shown),
    )


def first_labels(scores: Scores, pictures: Sequence[str], thumbnails: Sequence[str]) -> str:
    """A row for each picture: itself, and its first labels with cosine and probability."""
    several = len(scores.templates) > 1
    spread = scores.spread if several else None
    rows = [
        f'<tr><td><img src="{escape(url)}" alt="">{escape(name)}</td>'
        f"<td>{label_table(scores, spread, index, order.tolist())}</td></tr>"
        for index, (order, name, url) in enumerate(
            zip(scores.best(FIRST), pictures, thumbnails, strict=True)
        )
        if index < MOST_PICTURES
    ]
    words = ["Each label with its cosine"]
    words += ["± the standard deviation over the templates"] if several else []
    words += ["and its probability"] if scores.probability is not None else []
    left_out = len(pictures) - len(rows)
    note = f"<p>{left_out} more pictures are not shown here.</p>" if left_out else ""
    listed = f'<table class="first">{"".join(rows)}</table>'
    return f'<p class="quiet">{" ".join(words)}.</p>{listed}{note}'


def label_table(
    scores: Scores,
    spread: Float[np.ndarray, "picture label"] | None,
    picture: int,
    labels: Sequence[int],
) -> str:
    """The labels of one picture; a bar follows the probability."""
    rows = []
    for label in labels:
        place = picture, label
        cells = [f"<td>{escape(scores.labels[label])}</td>"]
        differs = "" if spread is None else f" ± {spread[place]:.3f}"
        cells.append(f'<td class="number">{scores.cosine[place]:.3f}{differs}</td>')
        if scores.probability is not None:
            share = float(scores.probability[place])
            cells.append(f'<td class="number">{share:.1%}</td>')
            cells.append(f'<td class="track"><i class="bar" style="width:{share:.1%}"></i></td>')
        rows.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table>{''.join(rows)}</table>"


def matrix(
    scores: Scores,
    pictures: Sequence[str],
    settings: Settings,
    palette: str,
    *,
    order: Order | None,
    shown: Shown,
) -> str:
    """Every value as a coloured number; as a picture where there are very many."""
    if scores.cosine.size > MOST_CELLS:
        url = png_url(matrix_png(scores, pictures, settings, palette, order=order, shown=shown))
        return f'<img class="paper" src="{url}" alt="Matrix of {shown}, pictures by labels">'
    values, names, labels = arranged(scores, pictures, order, shown)
    heads = "".join(f"<th>{escape(label)}</th>" for label in labels)
    number = "{:.2f}".format if shown == "cosine" else "{:.1%}".format
    rows = []
    for name, row, colours in zip(
        names, values.tolist(), cell_styles(values, palette), strict=True
    ):
        pairs = zip(row, colours, strict=True)
        cells = "".join(f'<td style="{style}">{number(value)}</td>' for value, style in pairs)
        rows.append(f"<tr><th>{escape(name)}</th>{cells}</tr>")
    head = f"<thead><tr><td></td>{heads}</tr></thead>"
    return f'<table class="matrix">{head}<tbody>{"".join(rows)}</tbody></table>'


def arranged(
    scores: Scores, pictures: Sequence[str], order: Order | None, shown: Shown
) -> tuple[Float[np.ndarray, "row column"], list[str], list[str]]:
    """The values to show, with the names of their rows and columns, in order."""
    values = scores.cosine if shown == "cosine" else scores.probability
    if values is None:
        raise ValueError("a probability for each cell was wanted; none came")
    rows, columns = order or map(np.arange, values.shape)
    names, labels = [pictures[row] for row in rows], [scores.labels[column] for column in columns]
    return values[np.ix_(rows, columns)], names, labels


def cell_styles(values: Float[np.ndarray, "row column"], palette: str) -> list[list[str]]:
    """Colour and readable letters of each cell, over the range of all values."""
    low, high = float(values.min()), float(values.max())
    entry = np.rint(255 * (values - low) / max(high - low, 1e-12)).astype(int)
    colours = table(palette)
    bright = colours @ np.array([0.2126, 0.7152, 0.0722]) > 0.45 * 255
    styles = [
        f"background:rgb{tuple(colour)};color:{'#111' if light else '#fff'}"
        for colour, light in zip(colours.tolist(), bright.tolist(), strict=True)
    ]
    return [[styles[place] for place in row] for row in entry.tolist()]


def matrix_png(
    scores: Scores,
    pictures: Sequence[str],
    settings: Settings,
    palette: str = "cividis",
    *,
    order: Order | None = None,
    shown: Shown = "cosine",
) -> bytes:
    """The matrix with both axes named, a scale, and the settings in its description.

    Pictures and labels stand in `order`, or as given; `shown` is which number has the colours.

    Raises:
        ValueError: if probabilities are to be shown and there are none.
    """
    values, names, labels = arranged(scores, pictures, order, shown)
    width, height = (
        min(MOST_INCHES, max(LEAST_INCHES, INCHES_A_CELL * cells)) for cells in values.shape[::-1]
    )
    figure = Figure(figsize=(width + 2.6, height + 2.6), dpi=150, layout="constrained")
    axes = figure.subplots()
    colours = ListedColormap(table(palette) / 255)
    drawn = axes.imshow(values, cmap=colours, interpolation="nearest", aspect="auto")
    label_axis(axes.xaxis, labels, rotation=90)
    label_axis(axes.yaxis, names, rotation=0)
    axes.tick_params(labelfontfamily=fonts())
    axes.set_xlabel("label")
    axes.set_ylabel("picture")
    titled(figure, f"{settings.model} · {settings.mechanism} · {shown} of picture and label")
    figure.colorbar(drawn, ax=axes, label=shown, shrink=0.8)
    return rendered(figure, settings.lines())


def fonts() -> list[str]:
    """Matplotlib's own font, and those of `MORE_FONTS` that this machine has for what it lacks."""
    installed = set(font_manager.get_font_names())
    return ["DejaVu Sans", *(name for name in MORE_FONTS if name in installed)]


def png_url(data: bytes) -> str:
    """A picture file as a data URL."""
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")
