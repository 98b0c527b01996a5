"""Inputs of the CLIP page: pictures, labels, templates and the model; all of it survives."""

import streamlit as st

from app.components import gallery, pickers, progress
from app.components.uploads import present
from app.services import clip_scores
from app.services import pictures as services_pictures
from app.services.pictures import PictureRef
from app.views.clip.link import OWN
from app.views.clip.view import clip_state
from app.words import plain, say
from core.errors import InputError
from core.models.vision.images import SAMPLES
from core.zero_shot.labels.lists import READY, LabelList, labels_from_file, parse_labels
from core.zero_shot.labels.templates import TEMPLATES, parse_templates

NOTES = 4  # notes on pictures that are shown
THUMBNAILS = 12  # pictures shown beside the labels


def pictures() -> tuple[PictureRef, ...]:
    """The visitor's pictures and the samples that are switched on."""
    gallery.show("clip")
    own, state = gallery.opened("clip"), clip_state()
    linked = state.own_pictures is None and "clip_samples" in st.session_state
    if state.own_pictures != bool(own):  # the first own picture puts the samples away
        state.own_pictures = bool(own)
        if own or not linked:
            st.session_state["clip_samples"] = [] if own else list(SAMPLES)
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
    # By name: an own picture that is called like a sample makes room for it.
    named = own | {name: services_pictures.sample(name) for name in chosen}
    found = tuple(named.values())
    strip(found)
    notes = [note for each in found for note in each.notes]
    for note in notes[:NOTES]:
        st.caption(plain(note))
    if len(notes) > NOTES:
        st.caption(say("clip_notes_more", count=len(notes) - NOTES))
    return found


def strip(pictures: tuple[PictureRef, ...]) -> None:
    """The first pictures, small; and how many more there are."""
    some = pictures[:THUMBNAILS]
    if some:
        images = [clip_scores.thumbnail(each) for each in some]
        with st.container(key="clip_strip"):
            st.image(images, width=88)
    if len(pictures) > len(some):
        st.caption(say("clip_more_pictures", count=len(pictures), shown=len(some)))


def fill_labels() -> None:
    """Put a ready list into the label field; a second click does it again."""
    name, st.session_state["clip_ready"] = st.session_state["clip_ready"], None
    if name is not None:
        st.session_state["clip_labels"] = "\n".join(READY[name])


def take_file() -> None:
    """Put the labels of a file into the label field, or say why they cannot be read."""
    file = present(st.session_state["clip_label_file"])
    if file is None:
        return
    try:
        found = labels_from_file(file.getvalue(), file.name)
        st.session_state["clip_labels"] = "\n".join(found.labels)
        clip_state().file_note = " ".join(found.notes)
    except InputError as error:
        clip_state().file_note = str(error)


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
    note, clip_state().file_note = clip_state().file_note, ""
    if note:
        st.warning(plain(note))


def template_picker() -> tuple[str, str]:
    """The name of a list of templates, and the visitor's own lines, which it may name."""
    st.session_state.setdefault("clip_templates", list(TEMPLATES)[1])
    st.session_state.setdefault("clip_own", "a photo of a {}\na drawing of a {}")
    name = st.selectbox(
        say("clip_templates"),
        [*TEMPLATES, OWN],
        format_func=lambda name: say("clip_own") if name == OWN else name,
        key="clip_templates",
        persist_state="session",
        help=say("clip_templates_help"),
    )
    with st.expander(say("clip_own_lines"), expanded=name == OWN):
        text = st.text_area(
            say("clip_own_lines"),
            key="clip_own",
            persist_state="session",
            help=say("clip_own_help"),
            label_visibility="collapsed",
        )
    return name, text


def read_templates(name: str, own: str) -> tuple[str, ...]:
    """The sentences that labels are put into.

    Raises:
        InputError: if one of the visitor's own lines has no {} or two.
    """
    return parse_templates(own) if name == OWN else TEMPLATES[name]


def form() -> tuple[str, tuple[str, str], str]:
    """The labels, one a line, the templates and the model; all of them wait for Run."""
    with st.form("clip_form", border=False):
        text = st.text_area(
            say("clip_labels"),
            height=180,
            key="clip_labels",
            persist_state="session",
            help=say("clip_labels_help"),
        )
        templates = template_picker()
        model = pickers.model_picker("clip", "clip")
        if st.form_submit_button(say("run"), type="primary", key="clip_run", width="stretch"):
            progress.start_again("clip")
    return text, templates, model


def read_labels(text: str) -> LabelList:
    """The labels of the field, and what was done to them.

    Raises:
        InputError: if there is none, or too many.
    """
    found = parse_labels(text)
    for note in found.notes:
        st.caption(plain(note))
    return found
