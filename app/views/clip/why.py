"""Why: which patches and which words one score comes from, and what every head looked at."""

from typing import NamedTuple

import streamlit as st

from app.components import canvas, page, progress, sidebar
from app.components.patches import patches
from app.components.pickers import chooser
from app.services import clip_reasons, runs
from app.services.clip_reasons import HeadPartsRequest, ReasonRequest, ReasonSource
from app.views.clip import downloads, words
from app.views.clip.view import ClipView
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


def show(view: ClipView) -> None:
    """The reason of one score: heat on the picture, heads, words."""
    chosen = choose(view)
    left, right = st.columns([3, 2], gap="medium")
    with left, page.guarded():
        heat(view, chosen)
    prompt = None
    with right, page.guarded():
        prompt = words.show(view, chosen.picture, chosen.label)
    if prompt is not None:
        with page.guarded():
            words.text_heads(prompt)
    with page.guarded():
        st.subheader(say("clip_heads"), help=say("clip_heads_help"))
        image_heads(view, chosen)


def image_heads(view: ClipView, chosen: Chosen) -> None:
    """Every head of the image tower: what it looks at, or what it adds to the score."""
    reading = chooser("clip_heads_show", HEADS, "clip_heads_show", "clip_heads_")
    picture, model = view.pictures[chosen.picture], view.request.model
    if reading == "attention":
        with progress.progress(model, view.slot, "clip_image_run") as callbacks:
            result = runs.runs().get(view.request.run(picture.key), picture, callbacks)
        patches.show(result, picture, False, "clip_patches")
        return
    request = HeadPartsRequest(view.request, picture.key, chosen.label)
    with progress.progress(model, view.slot, "clip_image_run") as callbacks:
        source = ReasonSource(view.result, picture)
        parts = clip_reasons.head_parts().get(request, source, callbacks)
    title = say("clip_score_of", label=view.request.labels[chosen.label])
    style = sidebar.canvas_style()
    style = style._replace(words={**style.words, **ONE_QUERY})
    scene = relevance_scene(
        parts.heads, parts.keys, parts.photo, run=f"{request.name}-heads", title=title, style=style
    )
    canvas.patches(scene, key="clip_head_parts")


def choose(view: ClipView) -> Chosen:
    """The cell that is explained: the one that was clicked, or chosen here.

    Kept by name: a number would mean another label once the labels change.
    """
    state, labels = st.session_state, list(view.request.labels)
    titles = [picture.title for picture in view.pictures]
    if state.get("clip_picture") not in titles:
        state["clip_picture"] = titles[0]
    first, second, third = st.columns(3)
    picture = titles.index(
        first.selectbox(say("clip_picture"), titles, key="clip_picture", persist_state="session")
    )
    if state.get("clip_label") not in labels:
        state["clip_label"] = labels[view.classification.scores.best(1)[picture, 0]]
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


def heat(view: ClipView, chosen: Chosen) -> None:
    """The heat map on the picture, by the reading that was chosen."""
    method: Method = chooser("clip_method", METHODS, "clip_method", "clip_")
    picture = view.pictures[chosen.picture]
    request = ReasonRequest(view.request, picture.key, chosen.label, chosen.other, method)
    with progress.progress(view.request.model, view.slot, "clip_heat") as callbacks:
        source = ReasonSource(view.result, picture)
        found = clip_reasons.heats().get(request, source, callbacks)
    title = describe(view.request.labels, chosen, method)
    scene = heat_scene(
        found.values, found.photo, run=request.name, title=title,
        unit=say(f"clip_unit_{method}"), style=sidebar.canvas_style(),
        **clip_reasons.scale_of(request),
    )  # fmt: skip
    canvas.heat(scene, key="clip_heat_canvas")
    for note in found.notes:
        st.caption(plain(note))
    downloads.of_heat(request, found, picture, title, view.result.settings)


def describe(labels: tuple[str, ...], chosen: Chosen, method: Method) -> str:
    """What the heat map shows, in words."""
    label = labels[chosen.label]
    if chosen.other is None:
        return say(f"clip_title_{method}", label=label)
    return say(f"clip_title_{method}_two", label=label, other=labels[chosen.other])
