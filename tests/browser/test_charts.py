"""Charts on a Streamlit page in a real browser: a click arrives in Python, bars can be read."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.test_start import ROOT, started

SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import streamlit as st
from app.charts import matrix as charts

values = np.arange(35, dtype=np.float32).reshape(5, 7) / 100
names = [[f"row {{n}}" for n in range(5)], [f"<b> {{n}}" for n in range(7)]]
figure = charts.similarity_matrix(values, *names, probability=values)
event = st.plotly_chart(
    figure, key="matrix", on_select="rerun", selection_mode="points",
    config={{"displayModeBar": False}},
)
st.text(f"chosen: {{charts.cell_of(event)}}")
"""

BARS = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import streamlit as st
from app.charts import matrix as charts

labels = ["a photo of a cat", "a label that says so much that it has no room", "cup", "hat"]
cosine = np.array([0.273, 0.204, -0.05, -0.204], np.float32)
share = np.array([0.999, 0.0431, 0.00004, 1e-7], np.float32)
for width in (200, 320, 600):
    with st.container(width=width):
        figure = charts.label_bars(labels, cosine, share, np.abs(cosine) / 9)
        st.plotly_chart(figure, key=str(width), config={{"displayModeBar": False}})
"""

# Boxes of the texts of one chart, and of the chart itself.
BOXES = """chart => [chart, ...chart.querySelectorAll("text")].map(node => {
    const { left, right, top, bottom } = node.getBoundingClientRect();
    return { text: node.textContent, left, right, top, bottom };
})"""


def inside(page: Page, row: int, column: int, across: float, down: float) -> tuple[float, float]:
    """A point of a cell, by its share of the cell's width and height."""
    box = page.locator(".js-plotly-plot .nsewdrag").bounding_box()
    x = box["x"] + box["width"] * (column + across) / 7
    return x, box["y"] + box["height"] * (row + down) / 5


@contextmanager
def served(script: str, folder: Path) -> Iterator[str]:
    """The address of a page with this script."""
    (folder / "page.py").write_text(script)
    options = ["--server.headless=true", "--browser.gatherUsageStats=false"]
    command = [sys.executable, "-m", "streamlit", "run", "page.py", *options]
    with started(command, folder, folder / "log") as address:
        yield f"http://{address}"


def opened(page: Page, address: str) -> None:
    page.goto(address)
    page.locator(".js-plotly-plot .nsewdrag").last.wait_for(state="attached", timeout=60_000)
    page.wait_for_timeout(1_000)


def overlap(one: dict, other: dict) -> bool:
    beside = one["right"] <= other["left"] or other["right"] <= one["left"]
    return not (beside or one["bottom"] <= other["top"] or other["bottom"] <= one["top"])


def test_bars_can_be_read_at_any_width(chromium, tmp_path):
    with served(BARS, tmp_path) as address:
        page = chromium.new_page(viewport={"width": 760, "height": 900})
        opened(page, address)
        for plot in page.locator(".js-plotly-plot").all():
            chart, *texts = plot.evaluate(BOXES)
            told = {each["text"] for each in texts}
            assert {"0.273", "-0.204", "4.3 %", "0.004 %", "<0.001 %"} <= told
            assert {"a photo of a cat", "■ cosine", "■ probability"} <= told
            for index, one in enumerate(texts):
                assert chart["left"] <= one["left"] <= one["right"] <= chart["right"], one
                assert not [other for other in texts[:index] if overlap(one, other)], one
            # The middle of the cosine panel, at the last row.
            box = plot.locator(".nsewdrag").first.bounding_box()
            x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 15
            page.mouse.move(x - 1, y)
            page.mouse.move(x, y)
            expect(plot.locator(".hoverlayer")).to_contain_text("“hat”:cosine -0.204")
        page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_a_click_anywhere_in_a_cell_chooses_it_and_hover_tells_it(chromium, tmp_path, width):
    with served(SCRIPT, tmp_path) as address:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        opened(page, address)
        for row, column, across, down in [(0, 0, 0.5, 0.5), (4, 6, 0.9, 0.9), (2, 5, 0.1, 0.9)]:
            at = inside(page, row, column, across, down)
            page.mouse.move(at[0] - 1, at[1])
            page.mouse.move(*at)
            value = f"{(7 * row + column) / 100:.3f}"
            expect(page.locator(".hoverlayer")).to_contain_text(f"cosine {value}, probability")
            expect(page.locator(".hoverlayer")).to_contain_text(
                f"row {row} looks like “<b> {column}”"
            )
            page.mouse.click(*at)
            chosen = f"chosen: Cell(row={row}, column={column})"
            expect(page.get_by_text(chosen)).to_be_visible(timeout=30_000)
            page.wait_for_timeout(500)  # two clicks at once are a double click: it lets go
        page.close()
