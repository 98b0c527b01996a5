"""Zero-shot: for each picture the first labels, as cosine and as probability apart."""

import streamlit as st

from app.charts import matrix
from app.components import page
from app.services import clip_scores
from app.views.clip.view import ClipView
from app.words import plain, say

SHOWN = 5  # labels of a picture, unless the visitor wants more
AT_ONCE = 8  # pictures on one page of the list
WIDTH = 140  # pixels of a picture, where its column has them


@st.fragment
def show(view: ClipView) -> None:
    """A card for each picture; paging and the number of labels run no model."""
    with page.guarded():
        pictures, labels = view.pictures, view.request.labels
        with st.container(horizontal=True, vertical_alignment="bottom"):
            first = pager(len(pictures))
            top = st.number_input(
                say("clip_top"), 1, max(1, min(20, len(labels))), min(SHOWN, len(labels)),
                key=f"clip_top_{min(20, len(labels))}", width=150,
                persist_state="session",
            )  # fmt: skip
        ranks = view.classification.scores.best(int(top))
        for start in range(first, min(first + AT_ONCE, len(pictures)), 2):
            pair = range(start, min(start + 2, len(pictures)))
            for index, place in zip(pair, st.columns(2, gap="medium"), strict=False):
                with place, st.container(border=True):
                    card(view, index, ranks[index])


def pager(count: int) -> int:
    """The first picture of the page that the visitor is on."""
    if count <= AT_ONCE:
        return 0
    pages = range(0, count, AT_ONCE)
    return st.selectbox(
        say("clip_page"),
        pages,
        format_func=lambda start: f"{start + 1} to {min(start + AT_ONCE, count)}",
        key=f"clip_page_{count}",
        persist_state="session",
    )


def card(view: ClipView, index: int, ranks: list[int]) -> None:
    """One picture, its first labels as bars, and how sure that is."""
    scores, picture = view.classification.scores, view.pictures[index]
    image, bars = st.columns([1, 3], vertical_alignment="center")
    image.image(clip_scores.thumbnail(picture), width=WIDTH)
    image.caption(plain(picture.title))
    probability = None if scores.probability is None else scores.probability[index, ranks]
    figure = matrix.label_bars(
        [view.request.labels[label] for label in ranks],
        scores.cosine[index, ranks],
        probability,
        scores.spread[index, ranks] if len(scores.templates) > 1 else None,
    )
    bars.plotly_chart(figure, key=f"clip_bars_{index}", config={"displayModeBar": False})
    bars.caption(certainty(view, index, ranks[0]))


def certainty(view: ClipView, index: int, first: int) -> str:
    """The margin to the next label, and how much the templates disagree on the first."""
    scores = view.classification.scores
    parts = [plain(scores.note)] if scores.note else []
    if scores.margin is not None:
        share = ""
        if scores.probability is not None:
            share = say(
                "clip_margin_probability", probability=float(scores.margin.probability[index])
            )
        parts.append(
            say("clip_margin", cosine=float(scores.margin.cosine[index]), probability=share)
        )
    if len(scores.templates) > 1:
        parts.append(say("clip_spread", spread=float(scores.spread[index, first])))
    return " · ".join(parts)
