"""Words of a prompt: what the model does not read, and how much each token counts."""

from html import escape

import streamlit as st

from app.components import canvas, progress, sidebar
from app.components.heads import heads
from app.components.pickers import chooser
from app.services import clip_reasons, runs
from app.services.clip_reasons import TokensRequest, TokensSource
from app.services.runs import RunResult
from app.views.clip.view import ClipView
from app.words import plain, say
from core.picture.canvas.scene import token_scene
from core.zero_shot.labels.templates import fill

READINGS = ("relevance", "attention")
CUT_SHOWN = 3  # labels of which the part that was not read is shown
LETTERS = 400  # of each of them


def show_all_cut(view: ClipView) -> None:
    """Labels that are longer than the model reads, with the rest greyed."""
    cut = view.classification.cut
    if not cut:
        return
    lost = sum(len(end.split()) for _, end in cut.values())
    labels = say("clip_one_label") if len(cut) == 1 else say("clip_some_labels", count=len(cut))
    context = view.classification.facts.context
    st.caption(say("clip_cut", context=context, words=f"{lost:,}", labels=labels))
    for read, lost in list(cut.values())[:CUT_SHOWN]:
        show_cut(read, lost)


def show_cut(read: str, lost: str, context: int | None = None) -> None:
    """A text whose end is greyed, because the model does not read it."""
    if context is not None:
        st.caption(say("clip_query_cut", context=context, count=len(lost.split())))
    begin = f"… {read[-LETTERS:]}" if len(read) > LETTERS else read
    end = f"{lost[:LETTERS]} …" if len(lost) > LETTERS else lost
    st.html(
        f'<div style="font-size: 0.85rem; overflow-wrap: anywhere">{escape(begin)}'
        f'<s style="opacity: 0.5">{escape(end)}</s></div>'
    )


def show(view: ClipView, picture: int, label: int) -> RunResult:
    """The score in numbers, then the prompt, shaded by how much each token counts."""
    scores, request = view.classification.scores, view.request
    numbers = [say("clip_cell_cosine", value=float(scores.cosine[picture, label]))]
    if scores.probability is not None:
        value = float(scores.probability[picture, label])
        numbers.append(say("clip_cell_probability", value=value))
    st.caption(" · ".join(numbers))
    st.subheader(say("clip_words"), help=say("clip_tokens"))
    reading = chooser("clip_tokens_show", READINGS, "clip_tokens_show", "clip_tokens_")
    prompt = request.run((fill(request.templates[0], request.labels[label]),))
    key = view.pictures[picture].key
    with progress.progress(request.model, view.slot, "clip_text_run") as callbacks:
        result = runs.runs().get(prompt, None, callbacks)
        tokens = clip_reasons.tokens().get(
            TokensRequest(request, prompt, key, reading),
            TokensSource(view.result, result),
            callbacks,
        )
    scene = token_scene(
        tokens.labels, tokens.values, run=f"{prompt.name}-{reading}",
        unit=say(f"clip_unit_{reading}"), style=sidebar.canvas_style(),
    )  # fmt: skip
    canvas.sentence(scene, key="clip_tokens")
    count = len(request.templates)
    if count > 1:
        st.caption(say("clip_one_template", template=plain(request.templates[0]), count=count))
    return result


def text_heads(result: RunResult) -> None:
    """Every head of the text tower, where the visitor asks for it."""
    if st.toggle(say("clip_text_heads"), key="clip_text_open", persist_state="session"):
        heads.show(result, 0, False, "clip_text")
