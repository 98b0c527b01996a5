"""A page of the app, opened as a visitor opens it, with the real offline models."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from core import models

MAIN = Path(__file__).parents[2] / "app" / "main.py"
PAGES = {"text": "minilm", "image": "focus-vit", "clip": "clip-mini", "lab": None}
FILES = {"image": "views/image.py", "clip": "views/clip/clip.py", "lab": "views/lab/lab.py"}


@pytest.fixture
def open_page(monkeypatch) -> Callable[[str], AppTest]:
    """Opens a page by name; skipped where its weights have not been fetched."""
    monkeypatch.setitem(os.environ, "HF_HUB_OFFLINE", "1")
    # A page that ran here stays behind as __main__, and a process started later would run it.
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    # Nothing looks again by itself in here, as a browser does: the page waits for the cost.
    monkeypatch.setattr("app.components.costs.PATIENCE", 60.0)

    def opened(name: str) -> AppTest:
        if PAGES[name] and not models.ready(PAGES[name]):
            pytest.skip(f"the weights of {PAGES[name]} are not here: make weights")
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
