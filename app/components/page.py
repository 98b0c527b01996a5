"""Page: what stands around every page: its style, its title, a sentence in place of a traceback."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from app.services.log import LOG
from app.words import plain, say
from core.errors import InputError

ABOUT = str(Path(__file__).resolve().parents[2] / "assets" / "about.svg")


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
        /* A phone shows the pages behind an arrow: here they are in a row too. */
        @media (min-width: 641px) { .st-key-pages { display: none; } }
        .st-key-about img { max-height: 110px; }
        @media (max-width: 640px) {
            .stColumn:not(:has(.st-key-clip_settings input:checked)) .st-key-clip_panel {
                display: none;
            }
        }
        </style>"""
    )


# What a class need not see while somebody shows something: the choices, and what they cost.
PRESENTING = """<style>
    [data-testid="stSidebar"], [data-testid="stSidebarCollapsedControl"],
    [data-testid="stExpandSidebarButton"], .st-key-given, .st-key-cost, .st-key-about,
    [data-testid="stHeader"], .stMainBlockContainer h1, [class*="_download"] { display: none; }
    html { font-size: 18px !important; }
    .stMainBlockContainer { padding-top: 0.4rem; max-width: none; }
    .stMainBlockContainer h3 { padding: 0 0 0.6rem !important; }
    .stVerticalBlock { gap: 0.5rem; }
    /* What is shown fits a beamer of 1280 x 720. */
    .st-key-text_map { max-width: 440px; }
    .st-key-text_mosaic { max-width: 470px; }
    .st-key-image_canvas { max-width: 900px; }
</style>"""


def header(heading: str, page: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The title, and places for the cost under it and for progress beside it."""
    left, right = st.columns([3, 1], vertical_alignment="center")
    with left:
        st.title(heading)
        cost = st.container(key="cost").empty()
    with right, st.container(horizontal=True, horizontal_alignment="right"):
        present()
        place = st.empty()
    about(page)
    return cost, place


def present() -> None:
    """A switch for a beamer, kept in the address: no sidebar, no choices, larger letters."""
    state = st.session_state
    state.setdefault("shared_present", st.query_params.get("present") == "1")
    on = st.toggle(
        say("present"), key="shared_present", persist_state="session", help=say("present_help")
    )
    if on:
        st.query_params["present"] = "1"
        st.html(PRESENTING)
    elif "present" in st.query_params:
        del st.query_params["present"]


def about(page: str) -> None:
    """What one sees on this page, in a few words and a picture, until the visitor closes it."""
    state = st.session_state
    state.setdefault("shared_about", st.query_params.get("about") != "0")
    if not state["shared_about"]:
        st.query_params["about"] = "0"  # a reload keeps it closed
        return
    with st.container(key="about", border=True), st.container(horizontal=True):
        st.image(ABOUT, width=150)
        with st.container():
            st.markdown(f"**{say('about')}** {say(f'about_{page}')}")
            st.button(say("about_close"), key="shared_about_close", on_click=close_about)


def close_about() -> None:
    """The visitor has read it."""
    st.session_state["shared_about"] = False


def links(pages: list[StreamlitPage]) -> None:
    """The pages in a row, where a narrow screen hides them."""
    with st.container(horizontal=True, key="pages"):
        for each in pages:
            st.page_link(each, width="content")


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
