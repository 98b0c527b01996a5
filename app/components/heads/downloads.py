"""Downloads of one head: picture, page, numbers."""

import io
from dataclasses import replace

import numpy as np
import streamlit as st

from app.components.downloads import buttons
from app.components.head_panel import HeadPanel
from app.components.long_text.files import input_name
from core.maps import head_view
from core.maps.labelled import LabelledMap
from core.picture.canvas.scene import head_scene, labels, sentence_scenes
from core.picture.files import export
from core.picture.files.html import offline_html

ONE_HEAD = ("layer:", "head:")  # lines of provenance that are not true of all heads


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
    if not head_view.is_long(run, choice):  # of a long text all maps are gigabytes
        files["All heads"] = ("all.npz", "application/zip", lambda: all_heads(panel))
    sentence = f"-sentence{choice.item + 1}" if len(request.input) > 1 else ""
    ranges = [f"{start}-{stop - 1}" for start, stop in choice.region or ()]
    part = f"-positions{'x'.join(ranges)}" if ranges else ""
    by = f"-{request.mechanism}" if request.mechanism else ""
    stem = f"{request.model}{by}{sentence}-layer{choice.layer}-head{choice.head}{part}"
    buttons(files, stem, panel.page)


def all_heads(panel: HeadPanel) -> bytes:
    """Every head of the group as it is shown, `layer head q k`, with labels and provenance."""
    run, choice = panel.result.run, panel.choice
    group = run.prepared.groups[choice.group]
    views = [
        [
            head_view.head_view(run, replace(choice, layer=layer, head=head)).weights
            for head in range(run.trace.calls[call].heads)
        ]
        for layer, call in enumerate(group.calls)
    ]
    text = input_name(panel.result.request.input[choice.item])
    about = head_view.provenance(run, choice, text, panel.view.note)
    file = io.BytesIO()
    np.savez_compressed(
        file, weights=np.array(views), queries=np.array(labels(panel.view.queries)),
        keys=np.array(labels(panel.view.keys)),
        provenance=np.array([each for each in about.lines() if not each.startswith(ONE_HEAD)]),
    )  # fmt: skip
    return file.getvalue()
