"""Matrix: every picture against every label, or either among themselves; a click shows why."""

from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
import streamlit as st
from jaxtyping import Float

from app.charts import matrix as charts_matrix
from app.components import page
from app.components.pickers import chooser
from app.services import clip_scores
from app.views.clip.view import ClipView, MatrixOrder, clip_state
from app.words import say
from core.picture.files.thumbnail import SIDE
from core.zero_shot import similarity
from core.zero_shot.similarity import Order

PAIRS = ("pictures_texts", "pictures_pictures", "texts_texts")
ORDERS = ("given", "sorted", "clustered")


class Sides(NamedTuple):
    """A matrix with the names of its rows and columns, and pictures where they are pictures."""

    values: Float[np.ndarray, "row column"]
    rows: list[str]
    columns: list[str]
    row_pictures: list[str]
    column_pictures: list[str]


@st.fragment
def show(view: ClipView) -> None:
    """The matrix, in the order that was chosen; a click opens the reason of a cell."""
    with page.guarded():
        pair, how, value = controls(view)
        sides = matrix(view, pair)
        order = similarity.order(sides.values, how, symmetric=pair != PAIRS[0])
        chart = figure(view, sides, order, pair, value)
        note = charts_matrix.pooled_note(sides.values.shape)
        if note:
            st.caption(note)
        if pair == PAIRS[0]:
            clip_state().matrix = MatrixOrder(view.request, order, value)
        options = {
            "key": f"clip_figure_{pair}_{how}_{hash(view.request)}",
            "config": {"displayModeBar": False},
        }
        if pair != PAIRS[0]:
            st.plotly_chart(chart, **options)
        elif not charts_matrix.clickable(sides.values.shape):
            st.caption(say("clip_too_many"))
            st.plotly_chart(chart, **options)
        else:
            st.caption(say("clip_click"))
            choose_in(chart, sides, order, options)
        if pair == PAIRS[0]:
            recall(view)


def figure(view: ClipView, sides: Sides, order: Order, pair: str, value: str) -> go.Figure:
    """The chart of a matrix, rows and columns in order."""
    rows, columns = order
    shares = view.classification.scores.probability if pair == PAIRS[0] else None
    return charts_matrix.similarity_matrix(
        sides.values[np.ix_(rows, columns)],
        [sides.rows[row] for row in rows],
        [sides.columns[column] for column in columns],
        row_pictures=[sides.row_pictures[row] for row in rows if sides.row_pictures],
        column_pictures=[
            sides.column_pictures[column] for column in columns if sides.column_pictures
        ],
        probability=None if shares is None else shares[np.ix_(rows, columns)],
        quantity=value,
        symmetric=pair != PAIRS[0],
        palette=st.session_state["shared_palette"],
    )


def choose_in(chart: go.Figure, sides: Sides, order: Order, options: dict[str, Any]) -> None:
    """A chart whose cells can be clicked."""

    def take() -> None:
        cell = charts_matrix.cell_of(st.session_state[options["key"]])
        if cell is not None:
            open_why(sides.rows[order.rows[cell.row]], sides.columns[order.columns[cell.column]])
            clip_state().cell_clicked = True

    st.plotly_chart(chart, on_select=take, selection_mode="points", **options)
    if clip_state().cell_clicked:
        clip_state().cell_clicked = False
        st.rerun()  # the whole page: the fragment alone would stay on the matrix


def controls(view: ClipView) -> tuple[str, str, str]:
    """What is compared, in which order, and by which number."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        pair = chooser("clip_pair", PAIRS, "clip_pair", "clip_")
        order = chooser("clip_order", ORDERS, "clip_order", "clip_order_")
        values = ("cosine", "probability")
        if pair != PAIRS[0] or view.classification.scores.probability is None:
            values = ("cosine",)
        value = chooser("clip_value", values, f"clip_value_{len(values)}", "clip_")
    return pair, order, value


def matrix(view: ClipView, pair: str) -> Sides:
    """The cosines and names of what was chosen."""
    names = [each.title for each in view.pictures]
    small = [clip_scores.thumbnail(each, SIDE) for each in view.pictures]
    labels = list(view.request.labels)
    if pair == "pictures_pictures":
        charts_matrix.require_square(len(names))
        return Sides(view.classification.among_pictures(), names, names, small, small)
    if pair == "texts_texts":
        charts_matrix.require_square(len(labels))
        return Sides(view.classification.among_texts(), labels, labels, [], [])
    return Sides(view.classification.scores.cosine, names, labels, small, [])


def open_why(picture: str, label: str) -> None:
    """Show why a picture and a label have their score."""
    state = st.session_state
    state["clip_picture"], state["clip_label"], state["clip_section"] = picture, label, "why"


def recall(view: ClipView) -> None:
    """Recall at 1, where picture and label of the same place belong together."""
    scores = view.classification.scores
    if len(scores.cosine) != len(scores.labels) or len(scores.labels) < 2:
        return
    if st.toggle(say("clip_pairs"), key="clip_pairs", persist_state="session"):
        found = similarity.recall_at_k(scores.cosine)
        st.caption(say("clip_recall", image=found.image_to_text, text=found.text_to_image))
