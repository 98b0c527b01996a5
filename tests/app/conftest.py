"""A page of the app, opened as a visitor opens it, with the real offline models."""

import os
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from core import models
from core.bench.cost import Comparison, Cost
from core.bench.timing import Spread
from core.models.model import Model
from core.models.run import Run

MAIN = Path(__file__).parents[2] / "app" / "main.py"
PAGES = {"text": "minilm", "image": "focus-vit", "clip": "clip-mini", "lab": None}
FILES = {"image": "views/image.py", "clip": "views/clip/clip.py", "lab": "views/lab/lab.py"}
SPREAD = Spread(20.0, 19.0, 21.0)


@pytest.fixture(autouse=True)
def own_main(monkeypatch) -> None:
    """A page that ran here stays behind as __main__, and a process started later would run it."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True, scope="session")
def no_collecting() -> Iterator[None]:
    """Streamlit collects garbage after each run of a page: slow with all of torch in memory."""
    before = config.get_option("runner.postScriptGC")
    config.set_option("runner.postScriptGC", False)
    yield
    config.set_option("runner.postScriptGC", before)


@pytest.fixture(scope="session")
def load() -> Callable[..., object]:
    """`models.load`, which loads each offline model once for all tests: nobody changes them."""
    real = models.load
    once = cache(real)

    def loaded(name: str, **how: object) -> object:
        return (once if name in models.OFFLINE else real)(name, **how)

    return loaded


def stand_in(model: Model, run: Run, on_step: Callable[[float], None]) -> Cost:
    """A cost at once, with times that nobody measured."""
    own = Comparison(SPREAD, Spread(2.0, 1.9, 2.1), 2.0, 0.5) if run.mechanism else None
    sizes = {"attention_bytes": 2**20, "pass_bytes": 2**21, "kept_bytes": run.trace.nbytes}
    return Cost(run.trace.kernels, SPREAD, 5, error=run.trace.error, against_own=own, **sizes)


@pytest.fixture
def real_cost() -> None:
    """Asked for by a test about the cost: its pages measure what their runs take."""


@pytest.fixture
def open_page(request, monkeypatch, fetched, load) -> Callable[[str], AppTest]:
    """Opens a page by name; skipped where its weights have not been fetched."""
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    # Nothing looks again by itself in here, as a browser does: the page waits for the cost.
    monkeypatch.setattr("app.components.costs.PATIENCE", 60.0)
    monkeypatch.setattr("core.models.load", load)
    if "real_cost" not in request.fixturenames:
        monkeypatch.setattr("app.services.jobs.cost.measure", stand_in)

    def opened(name: str) -> AppTest:
        if PAGES[name]:
            fetched(PAGES[name])
        page = AppTest.from_file(str(MAIN), default_timeout=120)
        if name != "text":
            page.switch_page(FILES[name])
        return page.run()

    st.cache_resource.clear()
    return opened


def type_model(page: AppTest, key: str, name: str) -> None:
    """Type a name that the list lacks; AppTest itself knows only what the list holds."""
    box = page.selectbox(key=key)
    box.options.append(name)
    box.set_value(name)
