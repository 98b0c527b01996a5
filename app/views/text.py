"""Text page: what does each token look at?"""

from html import escape

import streamlit as st

from app.components import costs, page, pickers, progress, sidebar
from app.components.heads import heads, mosaics
from app.components.long_text import files
from app.components.text_input import draft
from app.services import runs
from app.services.requests import RunRequest
from app.services.runs import RunResult
from app.words import plain, say

FIRST_PIN = "it"  # the token of the first sample whose row is pinned before anybody clicks
SAMPLES = {
    "it": "The animal didn't cross the street because it was too tired.",
    "bank": "She sat on the bank of the river.\nHe took the money to the bank.",
    "capital": "The capital of France is",
    "keys": "The keys to the old cabinet in the hall are on the table.",
}
SOURCE = "source"  # the sample of a long text
CUT_SHOWN = 600  # characters of what was not read: the rest is counted, not sent


def fill() -> None:
    """Put the chosen sample into the text area; a second click does it again."""
    sample, st.session_state["text_sample"] = st.session_state["text_sample"], None
    if sample == SOURCE:
        files.attach_own_source("text")
    elif sample is not None:
        files.remove("text")
        st.session_state["text_text"] = SAMPLES[sample]


def form() -> RunRequest:
    """The form: what is to be read, and by which model."""
    st.session_state.setdefault("text_text", SAMPLES["it"])
    samples, file = st.columns([4, 1], vertical_alignment="bottom")
    samples.pills(
        say("samples"),
        [*SAMPLES, SOURCE],
        format_func=lambda name: say(f"sample_{name}"),
        wrap=True,
        key="text_sample",
        on_change=fill,
    )
    with file:
        files.show("text")
    with st.form("text_form", border=False):
        words, settings = st.columns([3, 1], vertical_alignment="bottom")
        text = words.text_area(
            say("text_label"),
            height=92,
            key="text_text",
            persist_state="session",
            help=say("text_help"),
        )
        with settings:
            model = pickers.model_picker("text", "text")
            pickers.chooser("text_split", ("lines", "one"), "text_split", "text_split_")
            if st.form_submit_button(say("run"), type="primary", key="text_run", width="stretch"):
                progress.start_again("text")
                files.leave_if_typed("text")
    draft.keep("text_text")
    files.show_attached("text")
    attached = files.attached("text")
    if attached is not None:
        return sidebar.run_request(model, (attached.text,))
    if st.session_state.get("text_split") == "one":
        return sidebar.run_request(model, (text,))
    lines = tuple(line for line in text.splitlines() if line.strip())
    return sidebar.run_request(model, lines or (text,))


def facts(result: RunResult, item: int) -> None:
    """Notes of the preparation, the part that was not read, and the likeliest next tokens."""
    prepared, output = result.run.prepared, result.run.output
    for note in prepared.notes:
        st.caption(plain(note))
    if item < len(prepared.cut) and prepared.cut[item]:
        cut = prepared.cut[item]
        st.caption(say("text_cut", characters=len(cut)))
        start = cut[:CUT_SHOWN] + ("…" if len(cut) > CUT_SHOWN else "")
        with st.container(height=120):
            st.html(f'<div style="opacity: 0.5; white-space: pre-wrap">{escape(start)}</div>')
    if output.predictions:
        tokens = " · ".join(f"{p.label} {p.probability:.2f}" for p in output.predictions[item])
        st.caption(say("text_next", tokens=plain(tokens)))


cost_slot, work_slot = page.header(say("text_title"), "text")
with st.container(key="given"):
    request = form()
costs.leave(request, "text")
result = progress.attempt(request, runs.runs(), None, work_slot, "text")
if result is not None:
    stale, texts = result.request != request, result.request.input
    item = heads.sentence_picker(result, "text") if len(texts) > 1 else 0
    facts(result, item)
    pin = FIRST_PIN if texts == (SAMPLES["it"],) else None
    heads.show(result, item, stale, "text", pin)
    mosaics.draw_long(result, item, work_slot, "text")
    if not stale:
        tokens = sum(len(queries) for queries in result.run.prepared.groups[0].queries)
        costs.show(result, say("text_size", tokens=f"{tokens:,}"), cost_slot, "text")
