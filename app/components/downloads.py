"""Downloads: what is on the page as a picture or numbers, each made when it is asked for."""

import re

import streamlit as st

from app.words import say


def buttons(files: dict, stem: str, key: str, title: str | None = None) -> None:
    """One download button a file, under a title."""
    st.caption(title or say("downloads"))
    with st.container(horizontal=True):
        for kind, (ending, mime, make) in files.items():
            name = f"{re.sub('[^A-Za-z0-9._-]+', '-', stem)}.{ending}"
            st.download_button(
                kind, make, name, mime, on_click="ignore", key=f"{key}_download_{ending}"
            )
