"""Where things lie on a page with canvases, and what the page would send to the server."""

from typing import Any

from playwright.sync_api import Page

FIRST = "document.querySelector('main section').shadowRoot.headlight"
TOKENS = ["the", "␣animal", "שלום", "a" * 60, "</script>", "it", "."]


def cell(page: Page, row: int, column: int) -> dict[str, float]:
    """Where a cell of the first map lies, in its canvas."""
    box = page.evaluate(f"{FIRST}.view.layout")
    x = box["x"] + (column + 0.5) * box["cellWidth"]
    return {"x": x, "y": box["y"] + (row + 0.5) * box["cellHeight"]}


def tile(page: Page, layer: int, head: int) -> dict[str, float]:
    """The middle of a head's thumbnail, in its canvas."""
    box = page.evaluate(f"{FIRST}.view.grid")
    x = 30 + (head + 0.5) * (box["tileWidth"] + box["gap"])
    return {"x": x, "y": 36 + (layer + 0.5) * (box["tileHeight"] + box["gap"])}


def states(page: Page) -> list[Any]:
    """Name and value of every choice, in order."""
    return page.evaluate("window.states")


def colour(page: Page, at: dict[str, float], canvas: str = ".base") -> list[int]:
    """The colour on the screen of one point of a canvas."""
    return page.evaluate(
        f"""([selector, x, y]) => {{
            const canvas = {FIRST}.root.querySelector(selector);
            const ratio = window.devicePixelRatio;
            const point = canvas.getContext("2d").getImageData(x * ratio, y * ratio, 1, 1);
            return Array.from(point.data);
        }}""",
        [canvas, at["x"], at["y"]],
    )


def plain(text: str) -> str:
    """Without the marks that isolate labels of either direction."""
    return text.replace("\u2068", "").replace("\u2069", "")
