"""Inputs of the CLIP page: pictures, labels, templates and the model; all of it survives."""

import streamlit as st

from app import clip_loaders, gallery, shared
from app.clip_loaders import Asked
from app.loaders import Shown
from app.words import say
from core.errors import InputError
from core.models.images import SAMPLES, sample_picture
from core.zero_shot.labels import READY, LabelList, labels_from_file, parse_labels
from core.zero_shot.templates import TEMPLATES, parse_templates

LABELS = "cat\nastronaut\ncup of coffee\nrocket\ndog\nbicycle\ncastle\npiano"
OWN = "own"  # the visitor's own templates
LINK_CHARACTERS = 1500  # longer addresses do not survive everywhere
THUMBNAILS = 12  # pictures shown beside the labels


def from_link() -> None:
    """Start with the labels, templates and model that the page's address names."""
    state, query = st.session_state, st.query_params
    if state.get("clip_linked"):
        return
    state["clip_linked"] = True
    state.setdefault("clip_labels", query.get("labels", LABELS))
    if "templates" in query:
        known = query["templates"] in TEMPLATES
        state["clip_templates"] = query["templates"] if known else OWN
        if not known:
            state["clip_own"] = query["templates"]
    if "model" in query:
        state["clip_model"] = query["model"]


def to_link(asked: Asked) -> None:
    """Write the labels, templates and model into the page's address, if they fit."""
    labels, template = "\n".join(asked.labels), st.session_state["clip_templates"]
    templates = "\n".join(asked.templates) if template == OWN else template
    if len(labels) + len(templates) > LINK_CHARACTERS:
        st.query_params.clear()
        return
    st.query_params.from_dict({"labels": labels, "templates": templates, "model": asked.model})


def pictures() -> dict[str, Shown]:
    """The visitor's pictures and the samples that are switched on."""
    gallery.add("clip")
    own = gallery.opened()
    state = st.session_state
    if state.get("clip_own_pictures") != bool(own):  # the first own picture puts the samples away
        state["clip_own_pictures"] = bool(own)
        state["clip_samples"] = [] if own else list(SAMPLES)
    chosen = st.pills(
        say("clip_samples"),
        SAMPLES,
        selection_mode="multi",
        format_func=SAMPLES.get,
        wrap=True,
        key="clip_samples",
        persist_state="session",
        label_visibility="collapsed",
    )
    shown = own | {name: Shown(sample_picture(name), f"sample/{name}") for name in chosen}
    strip(shown)
    return shown


def strip(shown: dict[str, Shown]) -> None:
    """The first pictures, small; and how many more there are."""
    some = list(shown.items())[:THUMBNAILS]
    if some:
        images = [clip_loaders.thumbnail(each.digest, each.picture) for _, each in some]
        st.image(images, width=88)
    if len(shown) > len(some):
        st.caption(say("clip_more_pictures", count=len(shown), shown=len(some)))


def fill_labels() -> None:
    """Put a ready list into the label field; a second click does it again."""
    name, st.session_state["clip_ready"] = st.session_state["clip_ready"], None
    if name is not None:
        st.session_state["clip_labels"] = "\n".join(READY[name])


def take_file() -> None:
    """Put the labels of a file into the label field, or say why they cannot be read."""
    file = st.session_state["clip_label_file"]
    if file is None:
        return
    try:
        found = labels_from_file(file.getvalue(), file.name)
        st.session_state["clip_labels"] = "\n".join(found.labels)
        st.session_state["clip_file_note"] = " ".join(found.notes)
    except InputError as error:
        st.session_state["clip_file_note"] = str(error)


def label_sources() -> None:
    """Ready lists and files; both fill the label field, which stays the one truth."""
    st.pills(
        say("clip_ready"),
        READY,
        wrap=True,
        key="clip_ready",
        on_change=fill_labels,
        help=say("clip_ready_help"),
    )
    with st.popover(say("clip_from_file"), icon=":material/upload_file:"):
        st.file_uploader(
            say("clip_label_file"),
            type=["csv", "txt"],
            key="clip_label_file",
            on_change=take_file,
            help=say("clip_label_file_help"),
        )
    note = st.session_state.pop("clip_file_note", "")
    if note:
        st.warning(shared.plain(note))


def template_picker() -> tuple[str, str]:
    """The name of a list of templates, and the visitor's own lines."""
    st.session_state.setdefault("clip_templates", list(TEMPLATES)[1])
    name = st.selectbox(
        say("clip_templates"),
        [*TEMPLATES, OWN],
        format_func=lambda name: say("clip_own") if name == OWN else name,
        key="clip_templates",
        persist_state="session",
        help=say("clip_templates_help"),
    )
    if name != OWN:
        return name, ""
    st.session_state.setdefault("clip_own", "a photo of a {}\na drawing of a {}")
    text = st.text_area(
        say("clip_own_lines"),
        key="clip_own",
        persist_state="session",
        help=say("clip_own_help"),
    )
    return name, text


def read_templates(name: str, own: str) -> tuple[str, ...]:
    """The sentences that labels are put into.

    Raises:
        InputError: if one of the visitor's own lines has no {} or two.
    """
    return parse_templates(own) if name == OWN else TEMPLATES[name]


def labels_and_model() -> tuple[str, str]:
    """The form: the labels, one a line, and the model; both wait for Run."""
    with st.form("clip_form", border=False):
        text = st.text_area(
            say("clip_labels"),
            height=180,
            key="clip_labels",
            persist_state="session",
            help=say("clip_labels_help"),
        )
        model = shared.model_picker("clip", "clip")
        if st.form_submit_button(say("run"), type="primary", key="clip_run", width="stretch"):
            shared.start_again("clip")
    return text, model


def read_labels(text: str) -> LabelList:
    """The labels of the field, and what was done to them.

    Raises:
        InputError: if there is none, or too many.
    """
    found = parse_labels(text)
    for note in found.notes:
        st.caption(shared.plain(note))
    return found
