"""Downloads of a picture: the row on it, or the whole map of the head in numbers."""

import streamlit as st

from app.components import downloads
from app.components.patches.panel import PatchPanel
from core.maps import head_view
from core.maps.labelled import LabelledMap
from core.picture.canvas.scene import OFFLINE_STYLE, patches_scene, photo
from core.picture.canvas.views import Head
from core.picture.files import export
from core.picture.files.html import offline_html
from core.picture.files.overlay import overlay_png


def of_patches(panel: PatchPanel) -> None:
    """The chosen head to take away; each file is made when it is asked for."""
    run, choice, picture = panel.result.run, panel.choice, panel.picture.picture
    geometry, palette = panel.geometry, st.session_state["shared_palette"]

    def row() -> LabelledMap:
        return panel.labelled(picture.name)

    def page() -> str:
        about = row().about
        scene = patches_scene(
            run, photo(picture, geometry), panel.query, Head(choice.layer, choice.head),
            looked_at=panel.looked_at, group=choice.group, name="page", style=OFFLINE_STYLE,
        )  # fmt: skip
        return offline_html(about.line(), scene, about.lines())

    patch = panel.group.queries[0][panel.query].patch
    files = {
        "PNG": ("png", "image/png", lambda: overlay_png(picture, geometry, row(), palette, patch)),
        "HTML": ("html", "text/html", page),
        "NPZ": (
            "npz",
            "application/zip",
            lambda: export.to_npz(head_view.labelled(run, choice, picture.name)),
        ),
        "CSV": ("csv", "text/csv", lambda: export.to_csv(row())),
    }
    several = len(run.prepared.groups) > 1
    kind = f"-{panel.group.name.partition(' (')[0].replace(' ', '-')}" if several else ""
    stem = f"{panel.result.request.model}{kind}-layer{choice.layer}-head{choice.head}"
    downloads.buttons(files, stem, panel.page)
