"""Why: which patches and which words one score comes from, and what every head looked at."""

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import clip_downloads, clip_loaders, clip_reasons, heads, patches, shared
from app.choosing import chooser
from app.clip_loaders import Looked
from app.clip_reasons import Question
from app.components import attention_canvas as canvas
from app.loaders import Shown
from app.words import say
from core.explain.method import Method
from core.picture.scene import OFFLINE_LOOK, heat_scene, relevance_scene, token_scene
from core.zero_shot.templates import fill

METHODS = ("similarity", "relevance")
HEADS = ("attention", "parts")
ONE_QUERY = OFFLINE_LOOK.words  # there is no other query to click


class Chosen(NamedTuple):
    """A picture and a label, both counted from 0, and a label to compare with."""

    picture: int
    label: int
    other: int | None


def show(looked: Looked, shown: dict[str, Shown], slot: DeltaGenerator) -> None:
    """The reason of one score: heat on the picture, heads, words."""
    pictures = list(shown.values())
    chosen = choose(looked, pictures)
    picture = pictures[chosen.picture]
    left, right = st.columns([3, 2], gap="medium")
    with left, shared.guarded():
        heat(looked, picture, chosen, slot)
    with right, shared.guarded():
        words(looked, picture, chosen, slot)
    with shared.guarded():
        st.subheader(say("clip_heads"), help=say("clip_heads_help"))
        image_heads(looked, picture, chosen, slot)


def image_heads(looked: Looked, picture: Shown, chosen: Chosen, slot: DeltaGenerator) -> None:
    """Every head of the image tower: what it looks at, or what it adds to the score."""
    reading = chooser("clip_heads_show", HEADS, "clip_heads_show", "clip_heads_")
    with shared.progress(looked.asked.model, slot, "clip_image_run") as (tell, wait):
        if reading == "attention":
            kept = clip_loaders.image_run(looked.asked, picture, tell, wait)
        else:
            question = ask(looked, picture, chosen, "relevance")
            parts = clip_reasons.heads_for(question, looked, picture, tell, wait)
    if reading == "attention":
        patches.show(kept, picture.picture, False, "clip_patches")
        return
    title = say("clip_score_of", label=looked.asked.labels[chosen.label])
    look = shared.look()
    look = look._replace(words={**look.words, **ONE_QUERY})
    scene = relevance_scene(
        parts.heads, parts.keys, parts.photo, run=f"{question.name}-heads", title=title, look=look
    )
    canvas.patches(scene, key="clip_head_parts")


def ask(looked: Looked, picture: Shown, chosen: Chosen, method: Method) -> Question:
    """Which score is explained, and how."""
    name = clip_loaders.name_of(picture)
    return Question(looked.asked, name, chosen.label, chosen.other, method)


def choose(looked: Looked, pictures: list[Shown]) -> Chosen:
    """The cell that is explained: the one that was clicked, or chosen here."""
    state, labels = st.session_state, looked.asked.labels
    state["clip_picture"] = min(state.get("clip_picture", 0), len(pictures) - 1)
    best = int(looked.look.scores.best(1)[state["clip_picture"], 0])
    if state.get("clip_label", len(labels)) >= len(labels):
        state["clip_label"] = best
    first, second, third = st.columns(3)
    picture = first.selectbox(
        say("clip_picture"),
        range(len(pictures)),
        format_func=lambda index: pictures[index].picture.name,
        key="clip_picture",
        persist_state="session",
    )
    label = second.selectbox(
        say("clip_label"),
        range(len(labels)),
        format_func=lambda index: labels[index],
        key="clip_label",
        persist_state="session",
    )
    other = third.selectbox(
        say("clip_against"),
        [None, *(index for index in range(len(labels)) if index != label)],
        format_func=lambda index: say("clip_nothing") if index is None else labels[index],
        key=f"clip_against_{len(labels)}",
        help=say("clip_against_help"),
    )
    return Chosen(picture, label, other)


def heat(looked: Looked, picture: Shown, chosen: Chosen, slot: DeltaGenerator) -> None:
    """The heat map on the picture, by the reading that was chosen."""
    method: Method = chooser("clip_method", METHODS, "clip_method", "clip_")
    question = ask(looked, picture, chosen, method)
    with shared.progress(looked.asked.model, slot, "clip_heat") as (tell, wait):
        found = clip_reasons.heat_for(question, looked, picture, tell, wait)
    title = describe(looked, chosen, method)
    scene = heat_scene(
        found.values, found.photo, run=question.name, title=title,
        unit=say(f"clip_unit_{method}"), look=shared.look(), **clip_reasons.scale_of(question),
    )  # fmt: skip
    canvas.heat(scene, key="clip_heat_canvas")
    for note in found.notes:
        st.caption(shared.plain(note))
    clip_downloads.of_heat(question, found, picture, title, looked.settings)


def describe(looked: Looked, chosen: Chosen, method: str) -> str:
    """What the heat map shows, in words."""
    label = looked.asked.labels[chosen.label]
    if chosen.other is None:
        return say(f"clip_title_{method}", label=label)
    return say(f"clip_title_{method}_two", label=label, other=looked.asked.labels[chosen.other])


def words(looked: Looked, picture: Shown, chosen: Chosen, slot: DeltaGenerator) -> None:
    """The score in numbers, then the prompt, shaded by how much each token counts."""
    scores = looked.look.scores
    cell = chosen.picture, chosen.label
    numbers = [say("clip_cell_cosine", value=float(scores.cosine[cell]))]
    if scores.probability is not None:
        numbers.append(say("clip_cell_probability", value=float(scores.probability[cell])))
    st.caption(" · ".join(numbers))
    st.subheader(say("clip_words"), help=say("clip_tokens"))
    prompt = fill(looked.asked.templates[0], looked.asked.labels[chosen.label])
    with shared.progress(looked.asked.model, slot, "clip_text_run") as (tell, wait):
        tokens = clip_reasons.tokens_for(looked, chosen.picture, picture, prompt, tell, wait)
        kept = clip_loaders.text_run(looked.asked, prompt, tell, wait)
    scene = token_scene(tokens.labels, tokens.values, run=kept.wanted.name, look=shared.look())
    canvas.sentence(scene, key="clip_tokens")
    if st.toggle(say("clip_text_heads"), key="clip_text_open", persist_state="session"):
        heads.show(kept, 0, False, "clip_text")
