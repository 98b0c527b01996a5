"""Downloads of one head: picture, page, numbers."""

import streamlit as st

from app.components.downloads import buttons
from app.components.head_panel import HeadPanel
from app.components.long_text.files import input_name
from core.maps import head_view
from core.maps.labelled import LabelledMap
from core.picture.canvas.scene import head_scene, sentence_scenes
from core.picture.files import export
from core.picture.files.html import offline_html


def of_head(panel: HeadPanel) -> None:
    """One head to take away; each file is made when it is asked for."""
    run, choice, request = panel.result.run, panel.choice, panel.result.request
    text = input_name(request.input[choice.item])
    palette = st.session_state["shared_palette"]

    def labelled() -> LabelledMap:
        return head_view.labelled(run, choice, text)

    def page() -> str:
        about = head_view.provenance(run, choice, text, panel.view.note)
        scenes = [
            *sentence_scenes(panel.view, run="page"),
            head_scene(panel.view, choice, run="page"),
        ]
        return offline_html(about.line(), scenes, about.lines())

    files = {
        "PNG": ("png", "image/png", lambda: export.to_png(labelled(), palette)),
        "HTML": ("html", "text/html", page),
        "NPZ": ("npz", "application/zip", lambda: export.to_npz(labelled())),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(labelled())),
    }
    sentence = f"-sentence{choice.item + 1}" if len(request.input) > 1 else ""
    ranges = [f"{start}-{stop - 1}" for start, stop in choice.region or ()]
    part = f"-positions{'x'.join(ranges)}" if ranges else ""
    stem = f"{request.model}{sentence}-layer{choice.layer}-head{choice.head}{part}"
    buttons(files, stem, panel.page)
