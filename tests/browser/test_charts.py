"""Charts on a Streamlit page in a real browser: a click on a cell arrives in Python."""

import sys

import pytest
from playwright.sync_api import Page, expect

from tests.test_start import ROOT, started

pytestmark = pytest.mark.browser

SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
import streamlit as st
from app import charts

values = np.arange(35, dtype=np.float32).reshape(5, 7) / 100
names = [[f"row {{n}}" for n in range(5)], [f"<b> {{n}}" for n in range(7)]]
figure = charts.similarity_matrix(values, *names, probability=values)
event = st.plotly_chart(
    figure, key="matrix", on_select="rerun", selection_mode="points",
    config={{"displayModeBar": False}},
)
st.text(f"chosen: {{charts.cell_of(event)}}")
"""


def inside(page: Page, row: int, column: int, across: float, down: float) -> tuple[float, float]:
    """A point of a cell, by its share of the cell's width and height."""
    box = page.locator(".js-plotly-plot .nsewdrag").bounding_box()
    x = box["x"] + box["width"] * (column + across) / 7
    return x, box["y"] + box["height"] * (row + down) / 5


@pytest.mark.parametrize("width", [390, 1280])
def test_a_click_anywhere_in_a_cell_chooses_it_and_hover_tells_it(chromium, tmp_path, width):
    (tmp_path / "page.py").write_text(SCRIPT)
    options = ["--server.headless=true", "--browser.gatherUsageStats=false"]
    command = [sys.executable, "-m", "streamlit", "run", "page.py", *options]
    with started(command, tmp_path, tmp_path / "log") as address:
        page = chromium.new_page(viewport={"width": width, "height": 900})
        page.goto(f"http://{address}")
        plot = page.locator(".js-plotly-plot .nsewdrag")
        plot.wait_for(state="attached", timeout=60_000)
        page.wait_for_timeout(1_000)
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
