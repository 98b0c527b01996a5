"""Downloads of one head: picture, page, numbers."""

import io
from dataclasses import replace
from typing import Literal

import numpy as np
import streamlit as st

from app.components.downloads import buttons
from app.components.head_panel import HeadPanel
from app.components.long_text.files import input_name
from core.maps import head_view
from core.maps.labelled import LabelledMap, Provenance
from core.picture.canvas.scene import first_scale, head_scene, labels, sentence_scenes
from core.picture.canvas.views import Scale
from core.picture.files import export
from core.picture.files.arcs import to_arcs_png
from core.picture.files.html import offline_html

ONE_HEAD = ("layer:", "head:")  # lines of provenance that are not true of all heads


def of_head(panel: HeadPanel, pin: int | None) -> None:
    """One head to take away as it is shown, `pin` its pinned row; made when it is asked for."""
    run, choice, request = panel.result.run, panel.choice, panel.result.request
    text = input_name(request.input[choice.item])

    def labelled() -> LabelledMap:
        return head_view.labelled(run, choice, text)

    files = {
        "PNG": ("png", "image/png", lambda: picture(panel, labelled(), pin)),
        "HTML": ("html", "text/html", lambda: html_page(panel, text, pin)),
        "NPZ": ("npz", "application/zip", lambda: export.to_npz(labelled())),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(labelled())),
    }
    if not head_view.is_long(run, choice):  # of a long text all maps are gigabytes
        files["All heads"] = ("all.npz", "application/zip", lambda: all_heads(panel))
    buttons(files, stem(panel), panel.page)


def stem(panel: HeadPanel) -> str:
    """What the files are called: what is shown, and by which mechanism."""
    choice, request = panel.choice, panel.result.request
    by = f"-{request.mechanism}" if request.mechanism else ""
    sentence = f"-sentence{choice.item + 1}" if len(request.input) > 1 else ""
    ranges = [f"{start}-{stop - 1}" for start, stop in choice.region or ()]
    part = f"-positions{'x'.join(ranges)}" if ranges else ""
    return f"{request.model}{by}{sentence}-layer{choice.layer}-head{choice.head}{part}"


def picture(panel: HeadPanel, labelled: LabelledMap, pin: int | None) -> bytes:
    """The map, or the arcs where these are shown, with the pinned row and the scale of the page."""
    palette = st.session_state["shared_palette"]
    labelled = replace(labelled, about=as_shown(panel, labelled.about, pin))
    if form_of(panel) == "arcs":
        return to_arcs_png(labelled, palette, None if panel.view.shown else pin)
    return export.to_png(
        labelled, palette, pin=None if panel.view.shown else pin, scale=scale_of(panel)
    )


def html_page(panel: HeadPanel, text: str, pin: int | None) -> str:
    """A page that opens offline, and shows at first what this one shows."""
    about = head_view.provenance(panel.result.run, panel.choice, text, panel.view.note)
    about = as_shown(panel, about, pin)
    scene = head_scene(
        panel.view, panel.choice, run="page", form=form_of(panel), query=pin,
        scale=scale_of(panel),
    )  # fmt: skip
    return offline_html(
        about.line(), [*sentence_scenes(panel.view, run="page"), scene], about.lines()
    )


def as_shown(panel: HeadPanel, about: Provenance, pin: int | None) -> Provenance:
    """The provenance of a picture, which also says how it is drawn."""
    arcs, row = form_of(panel) == "arcs", None if panel.view.shown else pin
    parts = [
        about.note,
        "arcs" if arcs else "square-root scale" if scale_of(panel) == "sqrt" else "",
        "" if row is None else f"pinned: {panel.view.queries[row].label}",
    ]
    return replace(about, note="; ".join(part for part in parts if part))


def form_of(panel: HeadPanel) -> Literal["map", "arcs"]:
    """The picture that is shown; the table's is the map."""
    return "arcs" if st.session_state.get(f"{panel.page}_form") == "arcs" else "map"


def scale_of(panel: HeadPanel) -> Scale:
    """The scale of the map's colours on the page."""
    return panel.state.heads.scale or first_scale(panel.view)


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
