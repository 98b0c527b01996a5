"""Entry point: the page list, and the choices that all pages share."""

import sys
from pathlib import Path

import streamlit as st

# `streamlit run app/server.py` puts app/ on sys.path, not the repository root.
ROOT = str(Path(__file__).resolve().parents[1])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)

from app.words import say  # noqa: E402

ASSETS = Path(ROOT) / "assets"
# A file of ours: the browser would fetch a named icon from elsewhere.
st.set_page_config(page_title="Headlight", page_icon=str(ASSETS / "icon.svg"), layout="wide")
st.logo(str(ASSETS / "logo.svg"), size="large")
starting = st.empty()
if "torch" not in sys.modules:  # the first visitor waits for the libraries, and is told so
    starting.info(say("starting"), icon=":material/hourglass_top:")

from app.components import canvas_script, page, sidebar  # noqa: E402
from app.services import memory  # noqa: E402

memory.keep_watch()
starting.empty()
pages = [
    st.Page("views/text.py", title=say("nav_text"), icon=":material/notes:", default=True),
    st.Page("views/image.py", title=say("nav_image"), icon=":material/image:"),
    st.Page("views/clip/clip.py", title=say("nav_clip"), icon=":material/join_inner:"),
    st.Page("views/lab/lab.py", title=say("nav_lab"), icon=":material/science:"),
]
chosen = st.navigation(pages, position="top")
page.style()
page.links(pages)
canvas_script.bring()
with page.guarded():
    lab = chosen.url_path == "lab"  # it measures all mechanisms, and draws maps of single calls
    whole_model = lab and st.session_state.get("lab_section") == "model"
    sidebar.show(mechanism=not lab, palette=not whole_model)
    chosen.run()
