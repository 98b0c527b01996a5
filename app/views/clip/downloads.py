"""Downloads of the CLIP page: all scores with their settings, and heat maps."""

from typing import Any

import streamlit as st

from app.components import downloads, gallery
from app.services import clip_scores
from app.services.clip_reasons import Heat, ReasonRequest, scale_of
from app.services.pictures import PictureRef
from app.views.clip.view import ClipView, clip_state
from app.words import say
from core.picture.files.heat import heat_png
from core.zero_shot.report import clip_html, matrix_png
from core.zero_shot.table import Settings, scores_csv, settings_json


def of_scores(view: ClipView) -> None:
    """Every score as numbers, as a picture, and as a page that opens offline."""
    palette = st.session_state["shared_palette"]
    names = [each.title for each in view.pictures]
    small = lambda: [clip_scores.thumbnail(each) for each in view.pictures]  # noqa: E731
    scores, settings, how = view.classification.scores, view.result.settings, on_screen(view)
    state, refused = clip_state(), gallery.gallery().refused

    def table(bare: bool = False) -> bytes:
        """Made when it is asked for, by what the page says then."""
        how = {"least_cosine": state.least_cosine, "unread": list(refused.values())}
        return scores_csv(scores, names, settings, bare=bare, **how)

    files = {
        "CSV": ("csv", "text/csv", table),
        "Plain CSV": ("plain.csv", "text/csv", lambda: table(bare=True)),
        "Settings": ("json", "application/json", lambda: settings_json(scores, settings)),
        "PNG": (
            "png",
            "image/png",
            lambda: matrix_png(scores, names, settings, palette, **how),
        ),
        "HTML": (
            "html",
            "text/html",
            lambda: clip_html(scores, names, small(), settings, palette, **how),
        ),
    }
    downloads.buttons(files, f"{view.request.model}-scores", "clip", say("clip_downloads"))


def on_screen(view: ClipView) -> dict[str, Any]:
    """The order and the number of the matrix, where it was looked at."""
    matrix = clip_state().matrix
    if matrix is None or matrix.request != view.request:
        return {}
    return {"order": matrix.order, "shown": matrix.value}


def of_heat(
    request: ReasonRequest, heat: Heat, picture: PictureRef, title: str, settings: Settings
) -> None:
    """One heat map as a picture."""
    palette = st.session_state["shared_palette"]
    unit = say(f"clip_unit_{request.method}")

    def png() -> bytes:
        return heat_png(
            picture.picture, heat.geometry, heat.values, title, palette,
            unit=unit, about=settings.lines(), **scale_of(request),
        )  # fmt: skip

    files = {"PNG": ("png", "image/png", png)}
    stem = f"{request.classification.model}-{picture.picture.name}-{request.method}"
    downloads.buttons(files, stem, "clip_heat", say("clip_downloads_heat"))
