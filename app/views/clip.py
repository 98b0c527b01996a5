"""CLIP page: which words fit which picture, and why?"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import (
    clip_downloads,
    clip_inputs,
    clip_loaders,
    clip_matrix,
    clip_retrieval,
    clip_why,
    clip_zero_shot,
    costs,
    shared,
)
from app.clip_loaders import Asked, Looked
from app.loaders import Shown
from app.words import say
from core.errors import InputError

SECTIONS = ("zero_shot", "matrix", "why", "retrieval")
SMALL = "clip-mini"
CUT_SHOWN = 3  # labels of which the part that was not read is shown


def ask(panel: DeltaGenerator) -> tuple[Asked | None, dict[str, Shown]]:
    """Everything that the visitor gives; one sentence where it does not suffice."""
    clip_inputs.from_link()
    with panel:
        clip_inputs.label_sources()
        text, model = clip_inputs.labels_and_model()
        chosen = clip_inputs.template_picker()
    shown = clip_inputs.pictures()
    try:
        labels = clip_inputs.read_labels(text).labels
        templates = clip_inputs.read_templates(*chosen)
    except InputError as error:
        st.warning(shared.plain(error))
        return None, shown
    if not shown:
        st.info(say("clip_no_pictures"))
        return None, shown
    wanted = shared.wanted(model, "")
    names = tuple(clip_loaders.name_of(each) for each in shown.values())
    asked = Asked(
        wanted.model, names, labels, templates, wanted.mechanism, wanted.device, wanted.precision
    )
    return asked, shown


def tell_about(looked: Looked) -> None:
    """The model's own numbers, what was cut, and what the mechanism changed."""
    facts, asked = looked.look.facts, looked.asked
    bias = "" if facts.bias is None else say("clip_bias", bias=facts.bias)
    size = " x ".join(str(side) for side in facts.size)
    st.caption(
        say(
            "clip_facts", title=shared.plain(shared.title(asked.model)), size=size,
            width=facts.width, scale=facts.scale, bias=bias, context=facts.context,
        ),
        help=say("clip_facts_help"),
    )  # fmt: skip
    if asked.model == SMALL:
        st.caption(say("clip_small"))
    cut = looked.look.cut
    if cut:
        st.caption(say("clip_cut", context=facts.context, count=len(cut)))
        for read, lost in list(cut.values())[:CUT_SHOWN]:
            st.markdown(f":small[{shared.plain(read)} :gray[~~{shared.plain(lost)}~~]]")
    if looked.look.change is not None:
        st.info(changed(looked))


def changed(looked: Looked) -> str:
    """What the mechanism did to the first labels and to the pictures' vectors."""
    change = looked.look.change
    return say(
        "clip_changed",
        mechanism=looked.asked.mechanism,
        count=change.count,
        all=len(change.own_first),
        cosine=float(change.cosine.mean()),
    )


def section(looked: Looked, shown: dict[str, Shown], slot: DeltaGenerator) -> None:
    """The part of the page that was chosen."""
    st.session_state.setdefault("clip_section", SECTIONS[0])
    chosen = st.segmented_control(
        say("clip_section"),
        SECTIONS,
        format_func=lambda name: say(f"clip_{name}"),
        required=True,
        wrap=True,
        key="clip_section",
        persist_state="session",
        label_visibility="collapsed",
    )
    if chosen == "zero_shot":
        clip_zero_shot.show(looked, shown)
    elif chosen == "matrix":
        clip_matrix.show(looked, shown)
    elif chosen == "why":
        clip_why.show(looked, shown, slot)
    else:
        clip_retrieval.show(looked, shown, slot)


def cost(looked: Looked, shown: dict[str, Shown], slots: tuple[DeltaGenerator, ...]) -> None:
    """What the image tower costs for the picture that is looked at."""
    pictures = list(shown.values())
    index = min(st.session_state.get("clip_picture", 0), len(pictures) - 1)
    try:
        with shared.progress(looked.asked.model, slots[1], "clip_cost_run") as (tell, wait):
            kept = clip_loaders.image_run(looked.asked, pictures[index], tell, wait)
    except InputError as error:  # a tower without attention, whose labels stand all the same
        slots[0].caption(shared.plain(error))
        return
    costs.show(kept, say("clip_size"), slots[0], "clip")


def answer(asked: Asked, shown: dict[str, Shown], slots: tuple[DeltaGenerator, ...]) -> None:
    """The look that was asked for, in the section that was chosen."""
    looked = shared.attempt(asked, clip_loaders.look_work(shown), slots[1], "clip")
    if looked is None:
        return
    stale = looked.asked != asked
    if not stale:
        st.session_state["clip_shown"] = shown
        clip_inputs.to_link(asked)
    shown = st.session_state["clip_shown"]
    tell_about(looked)
    section(looked, shown, slots[1])
    clip_downloads.of_scores(looked, shown)
    if not stale:
        cost(looked, shown, slots)


slots = shared.header(say("clip_title"))
panel, results = st.columns([1, 3], gap="medium")
with results:
    asked, shown = ask(panel)
    if asked is not None:
        answer(asked, shown, slots)
