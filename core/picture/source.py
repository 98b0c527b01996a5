"""The canvas's own source: its files in the order they build on one another, as one script."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "canvas"

# No build step: the files share one scope, and this order is their only bundler.
FILES = (
    "words.js",
    "decode.js",
    "colours.js",
    "surface.js",
    "bus.js",
    "frame.js",
    "heads.js",
    "mosaic.js",
    "labels.js",
    "region.js",
    "rows.js",
    "map_draw.js",
    "map.js",
    "zoom.js",
    "zoom_bar.js",
    "zoom_input.js",
    "arcs.js",
    "arcs_input.js",
    "sentence.js",
    "excerpt.js",
    "photo.js",
    "controls.js",
    "patches.js",
    "patches_input.js",
    "heat_scale.js",
    "heat_tokens.js",
    "heat.js",
    "render.js",
)
SHEETS = ("canvas.css", "controls.css")


@cache
def script() -> str:
    """All of the canvas's JavaScript; it defines `render` and exports nothing."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in FILES)


@cache
def style() -> str:
    """The canvas's style sheets as one."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SHEETS)
