"""Downloads of the CLIP page: all scores with their settings, and heat maps."""

import streamlit as st
from core.zero_shot.report import clip_html, matrix_png

from app import clip_loaders, downloads
from app.clip_loaders import Looked
from app.clip_reasons import Heat, Question, scale_of
from app.loaders import Shown
from app.words import say
from core.picture.heat import heat_png
from core.zero_shot.table import Settings, scores_csv


def of_scores(looked: Looked, shown: dict[str, Shown]) -> None:
    """Every score as numbers, as a picture, and as a page that opens offline."""
    palette = st.session_state["shared_palette"]
    names = [each.picture.name for each in shown.values()]
    files = {
        "CSV": ("csv", "text/csv", lambda: scores_csv(looked.look.scores, names, looked.settings)),
        "PNG": (
            "png",
            "image/png",
            lambda: matrix_png(looked.look.scores, names, looked.settings, palette),
        ),
        "HTML": ("html", "text/html", lambda: page(looked, shown, names, palette)),
    }
    downloads.buttons(files, f"{looked.asked.model}-scores", "clip", say("clip_downloads"))


def page(looked: Looked, shown: dict[str, Shown], names: list[str], palette: str) -> str:
    """The offline page."""
    small = [clip_loaders.thumbnail(each.digest, each.picture) for each in shown.values()]
    return clip_html(looked.look.scores, names, small, looked.settings, palette)


def of_heat(question: Question, found: Heat, shown: Shown, title: str, settings: Settings) -> None:
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
