"""Page: what stands around every page: its style, its title, a sentence in place of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.services.log import LOG
from app.words import plain, say
from core.errors import InputError


def style() -> None:
    """What the theme's settings cannot say: the picture, not the margin, fills the first screen."""
    st.html(
        """<style>
        .stMainBlockContainer { padding: 4.2rem 2rem 3rem; max-width: 1500px; }
        @media (max-width: 640px) { .stMainBlockContainer { padding: 4.2rem 0.9rem 2rem; } }
        /* It brings a script, and shows nothing. */
        .st-key-headlight_script { display: none; }
        /* Our own Cancel says what is kept; Streamlit's Stop leaves half a page. */
        [data-testid="stStatusWidget"] button { display: none; }
        /* A picture twenty times as tall as wide must not push the page away. */
        [data-testid="stImage"] img { max-height: 220px; object-fit: contain; }
        .st-key-clip_strip [data-testid="stImage"] img { max-height: 88px; }
        /* What is not of the present inputs is greyed. */
        [class*="_stale"] { opacity: 0.45; }
        /* On a narrow screen the picture comes first: the form of the CLIP page folds away. */
        @media (min-width: 641px) { .st-key-clip_settings { display: none; } }
        @media (max-width: 640px) {
            .stColumn:not(:has(.st-key-clip_settings input:checked)) .st-key-clip_panel {
                display: none;
            }
        }
        </style>"""
    )


def header(heading: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The title, and places for the cost under it and for progress beside it."""
    left, right = st.columns([3, 1], vertical_alignment="center")
    with left:
        st.title(heading)
        cost = st.empty()
    return cost, right.empty()


@contextmanager
def guarded() -> Iterator[None]:
    """Say in a sentence what went wrong in this part of the page; the details go to the log."""
    try:
        yield
    except InputError as error:
        st.warning(plain(error))
    except Exception:
        LOG.exception("a part of the page failed")
        st.error(say("failed"))
