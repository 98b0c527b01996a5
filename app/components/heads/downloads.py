"""Downloads of one head: picture, page, numbers."""

import streamlit as st

from app.components.downloads import buttons
from app.components.long_text import files as text_files
from app.services.runs import Kept
from core.maps import head_view
from core.maps.head_view import Choice, HeadView
from core.maps.labelled import LabelledMap
from core.picture.canvas.scene import head_scene, sentence_scenes
from core.picture.files import export
from core.picture.files.html import offline_html


def of_head(kept: Kept, choice: Choice, view: HeadView, key: str) -> None:
    """One head to take away; each file is made when it is asked for."""
    given = text_files.name_of(kept.wanted.given[choice.item])
    palette = st.session_state["shared_palette"]

    def labelled() -> LabelledMap:
        return head_view.labelled(kept.run, choice, given)

    def page() -> str:
        about = head_view.provenance(kept.run, choice, given, view.note)
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
