"""Retrieval: words in, the pictures ranked by how near they are."""

import streamlit as st

from app.components import page, progress
from app.services import clip_scores
from app.services.pictures import PictureRef
from app.views.clip import words as clip_words
from app.views.clip.view import ClipView
from app.words import plain, say

SHOWN = 24  # pictures of the ranking that are drawn
WIDTH = 200  # pixels of one of them


def show(view: ClipView) -> None:
    """Ask for words, and show the pictures from the nearest to the farthest."""
    st.session_state.setdefault("clip_query", say("clip_query_start"))
    words = st.text_input(
        say("clip_query"), key="clip_query", persist_state="session", help=say("clip_query_help")
    )
    with page.guarded():
        with progress.progress(view.request.model, view.slot, "clip_rank") as callbacks:
            found = clip_scores.ranked(view.result, words, callbacks)
        if found.cut:
            clip_words.show_cut("", found.cut, view.classification.facts.context)
        with st.container(horizontal=True):
            for rank, (index, cosine) in enumerate(found.pictures[:SHOWN], start=1):
                with st.container(width=WIDTH, border=True):
                    place(view.pictures[index], rank, cosine)
        if len(view.pictures) > SHOWN:
            st.caption(say("clip_more_ranked", shown=SHOWN, count=len(view.pictures)))


def place(picture: PictureRef, rank: int, cosine: float) -> None:
    """One picture of the ranking."""
    st.image(clip_scores.thumbnail(picture), width="stretch")
    name = plain(picture.title)
    st.caption(say("clip_rank", rank=rank, name=name, cosine=cosine))
