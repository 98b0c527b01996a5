"""CLIP page: which words fit which picture, and why?"""

from typing import NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import costs, page, pickers, progress, sidebar
from app.services import runs
from app.services.clip_scores import ClassificationRequest, classifications
from app.services.pictures import PictureRef
from app.views.clip import downloads, inputs, link, matrix, retrieval, why, words, zero_shot
from app.views.clip.view import ClipView, clip_state
from app.words import plain, say
from core.attention import MECHANISMS
from core.errors import InputError
from core.zero_shot.labels.templates import fill, with_article

SECTIONS = {
    "zero_shot": zero_shot.show,
    "matrix": matrix.show,
    "why": why.show,
    "retrieval": retrieval.show,
}
SMALL = "clip-mini"
CHANGES = 4  # pictures whose change of label is named
ALIKE = 3  # pairs of labels that the model reads alike


class Inputs(NamedTuple):
    """Everything that the visitor gives; no request where it does not suffice."""

    request: ClassificationRequest | None
    pictures: tuple[PictureRef, ...]


def ask(panel: DeltaGenerator) -> Inputs:
    """The form and the pictures, and one sentence where they do not suffice."""
    link.read(list(SECTIONS))
    with panel, st.container(key="clip_panel"):
        inputs.label_sources()
        text, chosen, model = inputs.form()
    pictures = inputs.pictures()
    try:
        labels = inputs.read_labels(text).labels
        templates = inputs.read_templates(*chosen)
    except InputError as error:
        st.warning(plain(error))
        return Inputs(None, pictures)
    if not pictures:
        st.info(say("clip_no_pictures"))
        return Inputs(None, pictures)
    by = sidebar.run_request(model, "")
    keys = tuple(each.key for each in pictures)
    request = ClassificationRequest(
        by.model, keys, labels, templates, by.mechanism, by.device, by.precision
    )
    return Inputs(request, pictures)


def facts(view: ClipView) -> None:
    """The model's own numbers, what was cut, and what the mechanism changed."""
    classification, model = view.classification, view.request.model
    numbers = classification.facts
    bias = "" if numbers.bias is None else say("clip_bias", bias=numbers.bias)
    size = " x ".join(str(side) for side in numbers.size)
    st.caption(
        say(
            "clip_facts", title=plain(pickers.title(model)), size=size,
            width=numbers.width, scale=numbers.scale, bias=bias, context=numbers.context,
        ),
        help=say("clip_facts_help"),
    )  # fmt: skip
    if model == SMALL:
        st.caption(say("clip_small"))
    shared_out = () if classification.scores.sigmoid else classification.alike[:ALIKE]
    for first, second in shared_out:
        st.caption(say("clip_alike", first=plain(first), second=plain(second)))
    bringing = with_article(view.request.labels, view.request.templates)
    if bringing:
        example = fill(view.request.templates[0], bringing[0])
        words_of = {"label": plain(bringing[0]), "prompt": plain(example)}
        st.caption(say("clip_article", count=len(bringing), **words_of))
    unknown = list(classification.unknown.items())
    for label, pieces in unknown[:ALIKE]:
        st.caption(say("clip_unknown", label=plain(label), pieces=plain(", ".join(pieces))))
    if len(unknown) > ALIKE:
        st.caption(say("clip_unknown_more", count=len(unknown) - ALIKE))
    words.show_all_cut(view)
    if classification.change is not None:
        st.caption(changed(view))


def changed(view: ClipView) -> str:
    """What the mechanism did to the first labels and to the pictures' vectors."""
    change, labels = view.classification.change, view.request.labels
    now = view.classification.scores.best(1)[:, 0]
    pairs = zip(view.pictures, change.own_first, now, strict=True)
    which = [
        say("clip_change", name=each.title, before=labels[before], after=labels[after])
        for each, before, after in pairs
        if before != after
    ]
    return say(
        "clip_changed",
        mechanism=MECHANISMS[view.request.mechanism].title,
        count=change.count,
        all=len(change.own_first),
        which=plain(f" ({'; '.join(which[:CHANGES])})") if which else "",
        cosine=float(change.cosine.mean()),
    )


def section(view: ClipView) -> None:
    """The part of the page that was chosen."""
    st.session_state.setdefault("clip_section", next(iter(SECTIONS)))
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
        SECTIONS[chosen](view)


def cost(view: ClipView, cost_slot: DeltaGenerator) -> None:
    """What the image tower costs for the picture that is looked at."""
    titles = {each.title: each for each in view.pictures}
    picture = titles.get(st.session_state.get("clip_picture"), view.pictures[0])
    request = view.request.run(picture.key)
    costs.leave(request, "clip")
    try:
        with progress.progress(request.model, view.slot, "clip_cost_run") as callbacks:
            result = runs.runs().get(request, picture, callbacks)
    except InputError as error:  # a tower without attention, whose labels stand all the same
        cost_slot.caption(plain(error))
        return
    costs.show(result, say("clip_size"), cost_slot, "clip")


def answer(form: Inputs, cost_slot: DeltaGenerator, work_slot: DeltaGenerator) -> None:
    """The classification that was asked for, or the last one that worked, greyed."""
    service, request = classifications(), form.request
    if request is None:
        result = progress.last(service, "clip")
    else:
        result = progress.attempt(request, service, form.pictures, work_slot, "clip")
    if result is None:
        return
    state, stale = clip_state(), result.request != request
    if not stale:
        state.pictures = form.pictures
        link.write(request)
    view = ClipView(result, state.pictures, work_slot)
    with st.container(key="clip_stale" if stale else "clip_result"):
        facts(view)
        section(view)
        downloads.of_scores(view)
    if not stale:
        with page.guarded():
            cost(view, cost_slot)


slots = page.header(say("clip_title"), "clip")
panel, results = st.columns([1, 3], gap="medium")
panel.toggle(say("clip_settings"), key="clip_settings")  # shown on narrow screens only
with results:
    answer(ask(panel), *slots)
