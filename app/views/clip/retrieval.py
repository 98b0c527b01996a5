"""Retrieval: words in, the pictures ranked by how near they are."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import page, progress
from app.services import clip_scores
from app.services.clip_scores import Looked
from app.services.pictures import PictureRef
from app.views.clip import words as clip_words
from app.words import plain, say

SHOWN = 24  # pictures of the ranking that are drawn
WIDTH = 200  # pixels of one of them


def show(looked: Looked, shown: dict[str, PictureRef], slot: DeltaGenerator) -> None:
    """Ask for words, and show the pictures from the nearest to the farthest."""
    st.session_state.setdefault("clip_query", say("clip_query_start"))
    words = st.text_input(
        say("clip_query"), key="clip_query", persist_state="session", help=say("clip_query_help")
    )
    with page.guarded():
        with progress.progress(looked.asked.model, slot, "clip_rank") as (tell, wait):
            found = clip_scores.ranked(looked, words, tell, wait)
        if found.cut:
            clip_words.show_cut("", found.cut, looked.classification.facts.context)
        pictures = list(shown.values())
        with st.container(horizontal=True):
            for rank, (index, cosine) in enumerate(found.pictures[:SHOWN], start=1):
                with st.container(width=WIDTH, border=True):
                    place(pictures[index], rank, cosine)
        if len(pictures) > SHOWN:
            st.caption(say("clip_more_ranked", shown=SHOWN, count=len(pictures)))


def place(shown: PictureRef, rank: int, cosine: float) -> None:
    """One picture of the ranking."""
    st.image(clip_scores.thumbnail(shown), width="stretch")
    name = plain(shown.title)
    st.caption(say("clip_rank", rank=rank, name=name, cosine=cosine))
