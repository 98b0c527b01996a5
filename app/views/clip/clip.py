"""CLIP page: which words fit which picture, and why?"""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import costs, page, pickers, progress, sidebar
from app.services import clip_scores
from app.services.clip_scores import Asked, Looked
from app.services.pictures import PictureRef
from app.views.clip import downloads, inputs, matrix, retrieval, why, words, zero_shot
from app.words import plain, say
from core.attention import MECHANISMS
from core.errors import InputError

SECTIONS = ("zero_shot", "matrix", "why", "retrieval")
SMALL = "clip-mini"
CHANGES = 4  # pictures whose change of label is named
ALIKE = 3  # pairs of labels that the model reads alike


def ask(panel: DeltaGenerator) -> tuple[Asked | None, dict[str, PictureRef]]:
    """Everything that the visitor gives; one sentence where it does not suffice."""
    inputs.from_link()
    with panel, st.container(key="clip_panel"):
        inputs.label_sources()
        text, chosen, model = inputs.form()
    shown = inputs.pictures()
    try:
        labels = inputs.read_labels(text).labels
        templates = inputs.read_templates(*chosen)
    except InputError as error:
        st.warning(plain(error))
        return None, shown
    if not shown:
        st.info(say("clip_no_pictures"))
        return None, shown
    wanted = sidebar.wanted(model, "")
    names = tuple(each.key for each in shown.values())
    asked = Asked(
        wanted.model, names, labels, templates, wanted.mechanism, wanted.device, wanted.precision
    )
    return asked, shown


def tell_about(looked: Looked, shown: dict[str, PictureRef]) -> None:
    """The model's own numbers, what was cut, and what the mechanism changed."""
    facts, asked = looked.classification.facts, looked.asked
    bias = "" if facts.bias is None else say("clip_bias", bias=facts.bias)
    size = " x ".join(str(side) for side in facts.size)
    st.caption(
        say(
            "clip_facts", title=plain(pickers.title(asked.model)), size=size,
            width=facts.width, scale=facts.scale, bias=bias, context=facts.context,
        ),
        help=say("clip_facts_help"),
    )  # fmt: skip
    if asked.model == SMALL:
        st.caption(say("clip_small"))
    shared_out = () if looked.classification.scores.sigmoid else looked.classification.alike[:ALIKE]
    for first, second in shared_out:
        st.caption(say("clip_alike", first=plain(first), second=plain(second)))
    words.tell_cut(looked)
    if looked.classification.change is not None:
        st.caption(changed(looked, shown))


def changed(looked: Looked, shown: dict[str, PictureRef]) -> str:
    """What the mechanism did to the first labels and to the pictures' vectors."""
    change, labels = looked.classification.change, looked.asked.labels
    now = looked.classification.scores.best(1)[:, 0]
    pairs = zip(shown.values(), change.own_first, now, strict=True)
    which = [
        say("clip_change", name=each.title, before=labels[before], after=labels[after])
        for each, before, after in pairs
        if before != after
    ]
    return say(
        "clip_changed",
        mechanism=MECHANISMS[looked.asked.mechanism].title,
        count=change.count,
        all=len(change.own_first),
        which=plain(f" ({'; '.join(which[:CHANGES])})") if which else "",
        cosine=float(change.cosine.mean()),
    )


def section(looked: Looked, shown: dict[str, PictureRef], slot: DeltaGenerator) -> None:
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
    with page.guarded():
        if chosen == "zero_shot":
            zero_shot.show(looked, shown)
        elif chosen == "matrix":
            matrix.show(looked, shown)
        elif chosen == "why":
            why.show(looked, shown, slot)
        else:
            retrieval.show(looked, shown, slot)


def cost(looked: Looked, shown: dict[str, PictureRef], slots: tuple[DeltaGenerator, ...]) -> None:
    """What the image tower costs for the picture that is looked at."""
    titles = {each.title: each for each in shown.values()}
    picture = titles.get(st.session_state.get("clip_picture"), next(iter(shown.values())))
    costs.leave(looked.asked.of(picture.key), "clip")
    try:
        with progress.progress(looked.asked.model, slots[1], "clip_cost_run") as (tell, wait):
            kept = clip_scores.image_run(looked.asked, picture, tell, wait)
    except InputError as error:  # a tower without attention, whose labels stand all the same
        slots[0].caption(plain(error))
        return
    costs.show(kept, say("clip_size"), slots[0], "clip")


def answer(
    asked: Asked | None, shown: dict[str, PictureRef], slots: tuple[DeltaGenerator, ...]
) -> None:
    """The look that was asked for, or the last one that worked, greyed."""
    work = clip_scores.look_work(shown)
    if asked is None:
        looked = progress.last(work, "clip")
    else:
        looked = progress.attempt(asked, work, slots[1], "clip")
    if looked is None:
        return
    stale = looked.asked != asked
    if not stale:
        st.session_state["clip_shown"] = shown
        inputs.to_link(asked)
    shown = st.session_state["clip_shown"]
    with st.container(key="clip_stale" if stale else "clip_result"):
        tell_about(looked, shown)
        section(looked, shown, slots[1])
        downloads.of_scores(looked, shown)
    if not stale:
        with page.guarded():
            cost(looked, shown, slots)


slots = page.header(say("clip_title"))
panel, results = st.columns([1, 3], gap="medium")
panel.toggle(say("clip_settings"), key="clip_settings")  # shown on narrow screens only
with results:
    answer(*ask(panel), slots)
