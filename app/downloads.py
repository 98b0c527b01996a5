"""Downloads: what is on the page as a picture or numbers, each made when it is asked for."""

import re

import streamlit as st

from app import long_files
from app.loaders import Kept
from app.words import say
from core import reading
from core.picture import export
from core.picture.html import offline_html
from core.picture.scene import head_scene, sentence_scenes
from core.reading import Choice, HeadView


def of_head(kept: Kept, choice: Choice, view: HeadView, key: str) -> None:
    """One head to take away; each file is made when it is asked for."""
    given = long_files.name_of(kept.wanted.given[choice.item])
    palette = st.session_state["shared_palette"]

    def labelled() -> export.LabelledMap:
        return reading.labelled(kept.run, choice, given)

    def page() -> str:
        about = reading.provenance(kept.run, choice, given, view.note)
        scenes = [
            *sentence_scenes(view, run="page"),
            head_scene(view, choice, run="page"),
        ]
        return offline_html(about.line(), scenes, about.lines())

    files = {
        "PNG": ("png", "image/png", lambda: export.to_png(labelled(), palette)),
        "HTML": ("html", "text/html", page),
        "NPZ": ("npz", "application/zip", lambda: export.to_npz(labelled())),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(labelled())),
    }
    sentence = f"-sentence{choice.item + 1}" if len(kept.wanted.given) > 1 else ""
    ranges = [f"{start}-{stop - 1}" for start, stop in choice.region or ()]
    part = f"-positions{'x'.join(ranges)}" if ranges else ""
    stem = f"{kept.wanted.model}{sentence}-layer{choice.layer}-head{choice.head}{part}"
    buttons(files, stem, key)


def buttons(files: dict, stem: str, key: str, title: str | None = None) -> None:
    """One download button a file, under a title."""
    st.caption(title or say("downloads"))
    with st.container(horizontal=True):
        for kind, (ending, mime, make) in files.items():
            name = f"{re.sub('[^A-Za-z0-9._-]+', '-', stem)}.{ending}"
            st.download_button(
                kind, make, name, mime, on_click="ignore", key=f"{key}_download_{ending}"
            )
