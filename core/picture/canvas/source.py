"""The canvas's own source: its files in the order they build on one another, as one script."""

import json
from functools import cache
from pathlib import Path

from core.picture.colours.palettes import PALETTES, palette

FOLDER = Path(__file__).parent

# No build step: the files share one scope, and this order is their only bundler.
FILES = (
    "base/words.js",
    "base/packing.js",
    "base/decode.js",
    "base/colours.js",
    "base/surface.js",
    "base/bus.js",
    "base/frame.js",
    "tokens/heads.js",
    "tokens/mosaic.js",
    "base/labels.js",
    "map/region.js",
    "map/rows.js",
    "map/map_draw.js",
    "map/map.js",
    "map/zoom.js",
    "map/zoom_bar.js",
    "map/zoom_input.js",
    "map/arcs.js",
    "map/arcs_input.js",
    "tokens/sentence.js",
    "tokens/excerpt.js",
    "photo/photo.js",
    "photo/controls.js",
    "photo/patches.js",
    "photo/patches_input.js",
    "photo/heat_scale.js",
    "tokens/heat_tokens.js",
    "photo/heat.js",
    "base/render.js",
)
SHEETS = ("styles/canvas.css", "styles/controls.css")


@cache
def script() -> str:
    """All of the canvas's JavaScript; it defines `render` and exports nothing."""
    tables = json.dumps({name: palette(name) for name in PALETTES})
    texts = [(FOLDER / name).read_text(encoding="utf-8") for name in FILES]
    return "\n".join([f"const PALETTES = {tables};", *texts])


@cache
def style() -> str:
    """The canvas's style sheets as one."""
    return "\n".join((FOLDER / name).read_text(encoding="utf-8") for name in SHEETS)
