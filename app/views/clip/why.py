"""Why: which patches and which words one score comes from, and what every head looked at."""

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import canvas, page, patches, progress, sidebar
from app.components.pickers import chooser
from app.services import clip_reasons, clip_scores
from app.services.clip_reasons import Question
from app.services.clip_scores import Looked
from app.services.pictures import PictureRef
from app.views.clip import downloads, words
from app.words import plain, say
from core.explain.method import Method
from core.picture.canvas.scene import OFFLINE_STYLE, heat_scene, relevance_scene

METHODS = ("similarity", "relevance")
HEADS = ("attention", "parts")
ONE_QUERY = OFFLINE_STYLE.words  # there is no other query to click


class Chosen(NamedTuple):
    """A picture and a label, both counted from 0, and a label to compare with."""

    picture: int
    label: int
    other: int | None


def show(looked: Looked, shown: dict[str, PictureRef], slot: DeltaGenerator) -> None:
    """The reason of one score: heat on the picture, heads, words."""
    pictures = list(shown.values())
    chosen = choose(looked, pictures)
    picture = pictures[chosen.picture]
    left, right = st.columns([3, 2], gap="medium")
    with left, page.guarded():
        heat(looked, picture, chosen, slot)
    kept = None
    with right, page.guarded():
        kept = words.show(looked, picture, (chosen.picture, chosen.label), slot)
    if kept is not None:
        with page.guarded():
            words.text_heads(kept)
    with page.guarded():
        st.subheader(say("clip_heads"), help=say("clip_heads_help"))
        image_heads(looked, picture, chosen, slot)


def image_heads(looked: Looked, picture: PictureRef, chosen: Chosen, slot: DeltaGenerator) -> None:
    """Every head of the image tower: what it looks at, or what it adds to the score."""
    reading = chooser("clip_heads_show", HEADS, "clip_heads_show", "clip_heads_")
    with progress.progress(looked.asked.model, slot, "clip_image_run") as (tell, wait):
        if reading == "attention":
            kept = clip_scores.image_run(looked.asked, picture, tell, wait)
        else:
            question = ask(looked, picture, chosen, "relevance")
            parts = clip_reasons.heads_for(question, looked, picture, tell, wait)
    if reading == "attention":
        patches.show(kept, picture.picture, False, "clip_patches")
        return
    title = say("clip_score_of", label=looked.asked.labels[chosen.label])
    style = sidebar.canvas_style()
    style = style._replace(words={**style.words, **ONE_QUERY})
    scene = relevance_scene(
        parts.heads, parts.keys, parts.photo, run=f"{question.name}-heads", title=title, style=style
    )
    canvas.patches(scene, key="clip_head_parts")


def ask(looked: Looked, picture: PictureRef, chosen: Chosen, method: Method) -> Question:
    """Which score is explained, and how."""
    name = picture.key
    return Question(looked.asked, name, chosen.label, chosen.other, method)


def choose(looked: Looked, pictures: list[PictureRef]) -> Chosen:
    """The cell that is explained: the one that was clicked, or chosen here.

    Kept by name: a number would mean another label once the labels change.
    """
    state, labels = st.session_state, list(looked.asked.labels)
    titles = [picture.title for picture in pictures]
    if state.get("clip_picture") not in titles:
        state["clip_picture"] = titles[0]
    first, second, third = st.columns(3)
    picture = titles.index(
        first.selectbox(say("clip_picture"), titles, key="clip_picture", persist_state="session")
    )
    if state.get("clip_label") not in labels:
        state["clip_label"] = labels[looked.classification.scores.best(1)[picture, 0]]
    label = second.selectbox(say("clip_label"), labels, key="clip_label", persist_state="session")
    others = [say("clip_nothing"), *(other for other in labels if other != label)]
    if state.get("clip_against") not in others:
        state["clip_against"] = others[0]
    against = third.selectbox(
        say("clip_against"),
        others,
        key="clip_against",
        persist_state="session",
        help=say("clip_against_help"),
    )
    other = None if against == others[0] else labels.index(against)
    return Chosen(picture, labels.index(label), other)


def heat(looked: Looked, picture: PictureRef, chosen: Chosen, slot: DeltaGenerator) -> None:
    """The heat map on the picture, by the reading that was chosen."""
    method: Method = chooser("clip_method", METHODS, "clip_method", "clip_")
    question = ask(looked, picture, chosen, method)
    with progress.progress(looked.asked.model, slot, "clip_heat") as (tell, wait):
        found = clip_reasons.heat_for(question, looked, picture, tell, wait)
    title = describe(looked, chosen, method)
    scene = heat_scene(
        found.values, found.photo, run=question.name, title=title,
        unit=say(f"clip_unit_{method}"), style=sidebar.canvas_style(),
        **clip_reasons.scale_of(question),
    )  # fmt: skip
    canvas.heat(scene, key="clip_heat_canvas")
    for note in found.notes:
        st.caption(plain(note))
    downloads.of_heat(question, found, picture, title, looked.settings)


def describe(looked: Looked, chosen: Chosen, method: str) -> str:
    """What the heat map shows, in words."""
    label = looked.asked.labels[chosen.label]
    if chosen.other is None:
        return say(f"clip_title_{method}", label=label)
    return say(f"clip_title_{method}_two", label=label, other=looked.asked.labels[chosen.other])
