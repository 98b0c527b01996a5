"""Words of a prompt: what the model does not read, and how much each token counts."""

from html import escape

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import canvas, progress, sidebar
from app.components.heads import heads
from app.components.pickers import chooser
from app.services import clip_reasons, clip_scores
from app.services.clip_scores import Looked
from app.services.pictures import PictureRef
from app.services.runs import Kept
from app.words import plain, say
from core.picture.canvas.scene import token_scene
from core.zero_shot.labels.templates import fill

READINGS = ("relevance", "attention")
CUT_SHOWN = 3  # labels of which the part that was not read is shown
LETTERS = 400  # of each of them


def tell_cut(looked: Looked) -> None:
    """Labels that are longer than the model reads, with the rest greyed."""
    cut = looked.classification.cut
    if not cut:
        return
    st.caption(say("clip_cut", context=looked.classification.facts.context, count=len(cut)))
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


def show(looked: Looked, picture: PictureRef, cell: tuple[int, int], slot: DeltaGenerator) -> Kept:
    """The score in numbers, then the prompt, shaded by how much each token counts."""
    scores = looked.classification.scores
    numbers = [say("clip_cell_cosine", value=float(scores.cosine[cell]))]
    if scores.probability is not None:
        numbers.append(say("clip_cell_probability", value=float(scores.probability[cell])))
    st.caption(" · ".join(numbers))
    st.subheader(say("clip_words"), help=say("clip_tokens"))
    reading = chooser("clip_tokens_show", READINGS, "clip_tokens_show", "clip_tokens_")
    prompt = fill(looked.asked.templates[0], looked.asked.labels[cell[1]])
    with progress.progress(looked.asked.model, slot, "clip_text_run") as (tell, wait):
        kept = clip_scores.text_run(looked.asked, prompt, tell, wait)
        tokens = clip_reasons.tokens_for(looked, kept, cell[0], picture, reading, tell, wait)
    scene = token_scene(
        tokens.labels, tokens.values, run=f"{kept.wanted.name}-{reading}",
        unit=say(f"clip_unit_{reading}"), style=sidebar.canvas_style(),
    )  # fmt: skip
    canvas.sentence(scene, key="clip_tokens")
    count = len(looked.asked.templates)
    if count > 1:
        template = plain(looked.asked.templates[0])
        st.caption(say("clip_one_template", template=template, count=count))
    return kept


def text_heads(kept: Kept) -> None:
    """Every head of the text tower, where the visitor asks for it."""
    if st.toggle(say("clip_text_heads"), key="clip_text_open", persist_state="session"):
        heads.show(kept, 0, False, "clip_text")
