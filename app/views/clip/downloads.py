"""Downloads of the CLIP page: all scores with their settings, and heat maps."""

from typing import Any

import streamlit as st

from app.components import downloads
from app.services import clip_scores
from app.services.clip_reasons import Heat, Question, scale_of
from app.services.clip_scores import Looked
from app.services.pictures import PictureRef
from app.words import say
from core.picture.files.heat import heat_png
from core.zero_shot.report import clip_html, matrix_png
from core.zero_shot.table import Settings, scores_csv


def of_scores(looked: Looked, shown: dict[str, PictureRef]) -> None:
    """Every score as numbers, as a picture, and as a page that opens offline."""
    palette = st.session_state["shared_palette"]
    names = [each.title for each in shown.values()]
    small = lambda: [clip_scores.thumbnail(each) for each in shown.values()]  # noqa: E731
    scores, settings, view = looked.classification.scores, looked.settings, as_shown(looked)
    files = {
        "CSV": ("csv", "text/csv", lambda: scores_csv(scores, names, settings)),
        "PNG": (
            "png",
            "image/png",
            lambda: matrix_png(scores, names, settings, palette, **view),
        ),
        "HTML": (
            "html",
            "text/html",
            lambda: clip_html(scores, names, small(), settings, palette, **view),
        ),
    }
    downloads.buttons(files, f"{looked.asked.model}-scores", "clip", say("clip_downloads"))


def as_shown(looked: Looked) -> dict[str, Any]:
    """The order and the number of the matrix, where it was looked at."""
    asked, order, value = st.session_state.get("clip_on_screen", (None, None, None))
    return {"order": order, "shown": value} if asked == looked.asked else {}


def of_heat(
    question: Question, found: Heat, shown: PictureRef, title: str, settings: Settings
) -> None:
    """One heat map as a picture."""
    palette = st.session_state["shared_palette"]
    unit = say(f"clip_unit_{question.method}")

    def png() -> bytes:
        return heat_png(
            shown.picture, found.geometry, found.values, title, palette,
            unit=unit, about=settings.lines(), **scale_of(question),
        )  # fmt: skip

    files = {"PNG": ("png", "image/png", png)}
    stem = f"{question.asked.model}-{shown.picture.name}-{question.method}"
    downloads.buttons(files, stem, "clip_heat", say("clip_downloads_heat"))
