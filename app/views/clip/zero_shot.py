"""Zero-shot: for each picture the first labels, as cosine and as probability apart."""

from collections import Counter

import streamlit as st

from app.charts import matrix
from app.components import page
from app.services import clip_scores
from app.views.clip.view import ClipView, clip_state
from app.words import plain, say
from core.zero_shot.none_of_these import NONE, decided

SHOWN = 5  # labels of a picture, unless the visitor wants more
AT_ONCE = 8  # pictures on one page of the list
SMALL_AT_ONCE, SMALL = 24, 120  # the same of small ones, and pixels of each
COUNTED = 8  # labels whose pictures are counted by name
WIDTH = 140  # pixels of a picture, where its column has them


@st.fragment
def show(view: ClipView) -> None:
    """A card for each picture, or many small ones; what is chosen here runs no model."""
    with page.guarded():
        labels = view.request.labels
        with st.container(horizontal=True, vertical_alignment="bottom"):
            called = decided(view.classification.scores, least_cosine())
            chosen = ordered(view, called)
            small = st.toggle(say("clip_small_cards"), key="clip_small", persist_state="session")
            first = pager(len(chosen), SMALL_AT_ONCE if small else AT_ONCE)
            top = st.number_input(
                say("clip_top"), 1, max(1, min(20, len(labels))), min(SHOWN, len(labels)),
                key=f"clip_top_{min(20, len(labels))}", width=150,
                persist_state="session",
            )  # fmt: skip
        st.caption(counts(called))
        if not chosen:
            st.info(say("clip_filter_empty"))
        if small:
            thumbnails(view, chosen[first : first + SMALL_AT_ONCE], called)
            return
        ranks = view.classification.scores.best(int(top))
        shown = chosen[first : first + AT_ONCE]
        for start in range(0, len(shown), 2):
            pair = shown[start : start + 2]
            for index, place in zip(pair, st.columns(2, gap="medium"), strict=False):
                with place, st.container(border=True):
                    card(view, index, ranks[index], called[index])


def least_cosine() -> float | None:
    """Below it a picture is none of these; the page's downloads follow it."""
    least = st.number_input(
        say("clip_least"), -1.0, 1.0, -1.0, 0.01, key="clip_least", width=150,
        persist_state="session", help=say("clip_least_help"),
    )  # fmt: skip
    clip_state().least_cosine = None if least <= -1.0 else float(least)
    return clip_state().least_cosine


def ordered(view: ClipView, called: list[str]) -> list[int]:
    """The pictures that are wanted, in the order that is wanted."""
    there = [name for name in (*view.request.labels, NONE) if name in called]
    wanted = st.selectbox(
        say("clip_filter"), [None, *there], key=f"clip_filter_{hash(view.request)}", width=200,
        format_func=lambda name: say("clip_filter_all") if name is None else name,
    )  # fmt: skip
    order = st.selectbox(
        say("clip_sort"), ["given", "score", "label"], key="clip_sort", width=150,
        format_func=lambda name: say(f"clip_sort_{name}"), persist_state="session",
    )  # fmt: skip
    chosen = [index for index, name in enumerate(called) if wanted in (None, name)]
    best = view.classification.scores.cosine.max(axis=1)
    if order == "score":
        chosen.sort(key=lambda index: -best[index])
    if order == "label":
        chosen.sort(key=lambda index: (called[index] == NONE, called[index], -best[index]))
    return chosen


def counts(called: list[str]) -> str:
    """How many pictures each label has, the most first."""
    found = Counter(called).most_common()
    parts = [f"{plain(name)} {count:,}" for name, count in found[:COUNTED]]
    more = len(found) - COUNTED
    return " · ".join([*parts, say("clip_counts_more", count=more)] if more > 0 else parts)


def thumbnails(view: ClipView, chosen: list[int], called: list[str]) -> None:
    """Many pictures on one screen, each with what it is called."""
    best = view.classification.scores.cosine.max(axis=1)
    with st.container(horizontal=True, key="clip_thumbnails"):
        for index in chosen:
            with st.container(width=SMALL, gap=None):
                st.image(clip_scores.thumbnail(view.pictures[index]), width=SMALL - 10)
                st.caption(f"{plain(called[index])} {best[index]:.3f}")


def pager(count: int, at_once: int) -> int:
    """The first picture of the page that the visitor is on."""
    if count <= at_once:
        return 0
    pages = range(0, count, at_once)
    return st.selectbox(
        say("clip_page"),
        pages,
        format_func=lambda start: f"{start + 1} to {min(start + at_once, count)}",
        key=f"clip_page_{count}_{at_once}",
        persist_state="session",
        width=150,
    )


def card(view: ClipView, index: int, ranks: list[int], called: str) -> None:
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
    if called == NONE:
        bars.markdown(f"**{say('clip_none')}**")
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
