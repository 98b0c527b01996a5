"""Marks of the mechanisms: the same colour and sign for the same one, in every chart of the lab."""

from typing import NamedTuple


class Mark(NamedTuple):
    """How the points and the line of a mechanism look."""

    colour: str
    symbol: str


# Okabe and Ito's colours, told apart by colour-blind eyes, on light and on dark (their yellow is
# darker here, to be seen on white). Two that share one differ in their sign: filled and open.
ORANGE, SKY, GREEN, BLUE = "#e69f00", "#56b4e9", "#009e73", "#0072b2"
RED, PINK, GREY, YELLOW = "#d55e00", "#cc79a7", "#8c8c8c", "#b8a800"
MARKS = {
    "standard": Mark(GREY, "circle"),
    "flash": Mark(SKY, "square"),
    "chunked": Mark(BLUE, "diamond"),
    "window": Mark(GREEN, "triangle-up"),
    "longformer": Mark(YELLOW, "triangle-down"),
    "block_sparse": Mark(PINK, "star"),
    "swin": Mark(GREEN, "hexagon-open"),
    "swin_shifted": Mark(YELLOW, "hexagram-open"),
    "topk": Mark(PINK, "cross-open"),
    "linear": Mark(RED, "x"),
    "favor": Mark(ORANGE, "cross"),
    "flex": Mark(BLUE, "diamond-open"),
    "cudnn": Mark(SKY, "square-open"),
    "flash_attn": Mark(SKY, "pentagon"),
}
OTHER = Mark(GREY, "circle-open")


def mark(mechanism: str) -> Mark:
    """The mark of a mechanism, whatever else is in the chart."""
    return MARKS.get(mechanism, OTHER)
