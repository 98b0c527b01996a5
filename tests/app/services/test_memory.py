"""Memory: no full collection after a script, one between the clicks, none over what was loaded."""

import gc
import time
import weakref

from streamlit.testing.v1 import AppTest

from app.services import memory


class Link:
    """Refers to itself, so that only a collection can end it."""

    def __init__(self):
        self.myself = self


def tells_whether_streamlit_collects():
    import streamlit as st
    from streamlit import config

    st.text(config.get_option("runner.postScriptGC"))


def test_streamlit_collects_nothing_after_a_script():
    page = AppTest.from_function(tells_whether_streamlit_collects).run()
    assert page.text[0].value == "False"


def test_what_has_grown_old_is_collected_as_soon_as_nobody_clicks():
    memory.keep_watch()
    link = Link()
    gc.collect(1)  # now it is among the oldest, and only a full collection finds it
    gone = weakref.ref(link)
    del link
    gc.collect(1)
    assert gone() is not None
    deadline = time.monotonic() + memory.PATIENCE + 5
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.1)
    assert gone() is None


def test_what_is_set_aside_is_not_looked_at_again_until_the_next_model():
    link = Link()
    gone = weakref.ref(link)
    memory.set_aside()
    del link
    gc.collect()
    assert gone() is not None
    memory.set_aside()
    assert gone() is None
