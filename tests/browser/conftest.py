"""One headless Chromium for all browser tests, pages that record what they send, sample data."""

import base64
import io
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from core.picture.canvas.encode import encode_each
from core.picture.canvas.views import Photo, ViewData, mosaic_data
from core.picture.files.html import offline_html
from tests.browser.app_page import Visit, opener
from tests.browser.canvas_page import TOKENS
from tests.test_start import ROOT, started

ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def address(fetched, tmp_path_factory) -> Iterator[str]:
    """Where one app runs for all tests."""
    fetched("minilm", "focus-vit", "clip-mini")
    command = [sys.executable, "-m", "streamlit", "run", "app/server.py"]
    with started(command, ROOT, tmp_path_factory.mktemp("app") / "log") as address:
        yield address


@pytest.fixture
def visit(chromium: Browser, address: str) -> Iterator[Callable[..., Visit]]:
    """Opens pages of the app; no page may fail or ask another host for anything."""
    visits: list[Visit] = []
    open_page = opener(chromium, address)

    def opened(*args, **options) -> Visit:
        visits.append(open_page(*args, **options))
        return visits[-1]

    yield opened
    for visit in visits:
        visit.page.close()  # or it would measure and ask on beside the next test
    assert [error for visit in visits for error in visit.errors] == []
    assert [url for visit in visits for url in visit.elsewhere] == []


@pytest.fixture
def show(chromium: Browser, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Opens views as an offline page, with the network off; errors on the page fail the test."""
    pages, errors = [], []

    def open_page(*views: dict, width: int = 1280, scheme: str = "light", **options: str) -> Page:
        file = tmp_path / f"page{len(pages)}.html"
        file.write_text(offline_html("A page", list(views)), encoding="utf-8")
        size = {"width": width, "height": 900}
        page = chromium.new_page(viewport=size, color_scheme=scheme, **options)
        page.context.set_offline(True)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: line.type == "error" and errors.append(line.text))
        page.goto(file.as_uri())
        page.wait_for_function(
            """() => [...document.querySelectorAll("main section")].every(
                ({shadowRoot: {headlight: {view}}}) => view.layout ?? view.grid ?? view.list)"""
        )
        record_states(page)
        pages.append(page)
        return page

    yield open_page
    for page in pages:
        page.close()
    assert errors == []


def record_states(page: Page) -> None:
    """An offline page sends nothing; this puts Streamlit's part in its place."""
    page.evaluate(
        """() => {
            window.states = [];
            for (const { shadowRoot } of document.querySelectorAll("main section"))
                shadowRoot.headlight.send = (name, { turn, ...value }) =>
                    window.states.push([name, value]);
        }"""
    )


@pytest.fixture
def weights() -> np.ndarray:
    """Cell (row, column) weighs (row + 1) * (column + 1) / 100: no two places look alike."""
    steps = np.arange(1, len(TOKENS) + 1, dtype=np.float32)
    return np.outer(steps, steps) / 100


@pytest.fixture
def mosaic() -> ViewData:
    grids = np.random.default_rng(0).random((3, 5, 7, 7)).astype(np.float32)
    return mosaic_data(encode_each(grids), run="r", notes=[["note"] * 5] * 3)


@pytest.fixture
def photo() -> Photo:
    """100 x 60, centre-cropped to 60 x 60 in a grid of 4 rows and 6 columns."""
    file = io.BytesIO()
    Image.new("RGB", (100, 60), (90, 120, 150)).save(file, "JPEG")
    url = "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
    return Photo(url, 100, 60, (20.0, 0.0, 80.0, 60.0), (4, 6))
