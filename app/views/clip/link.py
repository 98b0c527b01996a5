"""Link: the address of the CLIP page, which holds what was chosen and opens the same again."""

from urllib.parse import quote

import streamlit as st

from app.services.clip_scores import ClassificationRequest
from app.views.clip.view import clip_state
from app.words import plain, say
from core.models.vision.images import SAMPLES
from core.zero_shot.labels.lists import READY
from core.zero_shot.labels.templates import TEMPLATES

LABELS = "cat\nastronaut\ncup of coffee\nrocket\ndog\nbicycle\ncastle\npiano"
OWN = "own"  # the visitor's own templates
LINK_BYTES = 1500  # longer addresses do not survive everywhere
# The mechanism's is read by the sidebar, on every page.
KEYS = ("model", "templates", "list", "labels", "mechanism", "samples", "show")


def read(sections: list[str]) -> None:
    """Start with what the page's address names; a sentence for each name that nothing has."""
    state, query = st.session_state, st.query_params
    if clip_state().linked:
        for note in clip_state().link_notes:
            st.warning(note)
        return
    clip_state().linked, notes = True, clip_state().link_notes
    wanted = query.get("list")
    ready = READY.get(wanted or "")
    if wanted is not None and ready is None:
        lists = ", ".join(READY)
        notes.append(say("clip_link_list", name=plain(wanted), lists=plain(lists)))
    state.setdefault("clip_labels", "\n".join(ready) if ready else query.get("labels", LABELS))
    if "templates" in query:
        known = query["templates"] in TEMPLATES
        state["clip_templates"] = query["templates"] if known else OWN
        if not known:
            state["clip_own"] = query["templates"]
    if "model" in query:
        state["clip_model"] = query["model"]
    if "samples" in query:
        names = query["samples"].split(",")
        state["clip_samples"] = [name for name in names if name in SAMPLES]
        lost = [name for name in names if name and name not in SAMPLES]
        if lost:
            notes.append(say("clip_link_samples", names=plain(", ".join(lost))))
    if query.get("show") in sections:
        state["clip_section"] = query["show"]
    for note in notes:
        st.warning(note)


def write(request: ClassificationRequest) -> None:
    """Write the request into the page's address, as far as it fits; say what does not."""
    state, labels = st.session_state, "\n".join(request.labels)
    template, samples = state["clip_templates"], state.get("clip_samples") or []
    link = {"model": request.model}
    if request.mechanism is not None:
        link["mechanism"] = request.mechanism
    templates = "\n".join(request.templates) if template == OWN else template
    if len(quote(templates)) <= LINK_BYTES:
        link["templates"] = templates
    else:
        st.caption(say("clip_link_templates", count=len(request.templates)))
    ready = next((name for name, names in READY.items() if names == request.labels), None)
    if ready is not None:
        link["list"] = ready
    elif len(quote(labels)) <= LINK_BYTES:
        link["labels"] = labels
    else:
        st.caption(say("clip_link_long"))
    if set(samples) != set(SAMPLES):
        link["samples"] = ",".join(samples)
    if state.get("clip_section"):
        link["show"] = state["clip_section"]
    others = {key: value for key, value in st.query_params.to_dict().items() if key not in KEYS}
    if st.query_params.to_dict() != {**others, **link}:
        st.query_params.from_dict({**others, **link})
