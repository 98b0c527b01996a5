"""Long rows: what one token of a long text looks at, exactly: passages, a list, a file."""

import numpy as np
import pandas as pd
import streamlit as st

from app.components import canvas
from app.components.head_panel import HeadPanel
from app.components.long_text import files
from app.words import say
from core.maps import long_rows
from core.picture.canvas.excerpt import excerpt_data
from core.picture.files import export
from core.types import Position

LISTED = 100  # keys of the table; the file beside it holds all of them


def show(panel: HeadPanel) -> None:
    """The token that looks, the passages that matter to it, and its strongest keys."""
    query = query_picker(panel)
    if query is None:
        st.caption(say("long_no_token"))
        return
    queries, keys = panel.queries, panel.keys
    weights = long_rows.exact_row(panel.result.run, panel.choice, query)
    same = queries == keys
    passages = long_rows.passages(weights, (query,) if same else ())
    scene = excerpt_data(
        weights, keys, passages,
        query=query, label=queries[query].label, run=panel.name, chooses=same, style=panel.style,
    )  # fmt: skip
    left, right = st.columns([2, 1], gap="medium")
    with left:
        canvas.excerpt(
            scene, key=f"{panel.page}_excerpt", on_row_change=lambda: _take_token(panel.page)
        )
    with right:
        _listed(weights, keys, long_rows.STRONGEST, height=260)


def table(panel: HeadPanel) -> None:
    """The strongest keys of the token that looks, and all of them as a file."""
    query = query_picker(panel)
    if query is None:
        st.caption(say("long_no_token"))
        return
    run, choice, request = panel.result.run, panel.choice, panel.result.request
    weights = long_rows.exact_row(run, choice, query)
    _listed(weights, panel.keys, LISTED)
    st.caption(say("row_sum", count=f"{len(weights):,}", total=float(weights.sum())))
    text = files.input_name(request.input[choice.item])
    st.download_button(
        say("long_row_file", count=f"{len(weights):,}"),
        lambda: export.to_csv(long_rows.labelled_row(run, choice, query, text)),
        f"{request.model}-layer{choice.layer}-head{choice.head}-token{query}.csv",
        "text/csv",
        on_click="ignore",
        key=f"{panel.page}_row_file",
    )


def query_picker(panel: HeadPanel) -> int | None:
    """Which token looks: by its number, by words to find, or by a click in map and passages."""
    page, queries = panel.page, panel.queries
    number, words, again = st.columns([1, 2, 1], vertical_alignment="bottom")
    query = number.number_input(
        say("long_token", last=f"{len(queries) - 1:,}"),
        0, len(queries) - 1,
        key=f"{page}_token", help=say("long_token_help"), persist_state="session",
    )  # fmt: skip
    words.text_input(
        say("long_find"),
        key=f"{page}_find",
        help=say("long_find_help"),
        on_change=lambda: _find(panel),
    )
    again.button(say("long_next"), key=f"{page}_next", on_click=lambda: _find(panel))
    missing = panel.state.long_text.not_found
    if missing is not None and missing == st.session_state[f"{page}_find"]:
        st.caption(say("long_not_found"))
    return query


def _find(panel: HeadPanel) -> None:
    state, page = st.session_state, panel.page
    words, query = state[f"{page}_find"], state.get(f"{page}_token")
    found = long_rows.find(panel.queries, words, -1 if query is None else query)
    panel.state.long_text.not_found = words if words.strip() and found is None else None
    if found is not None:
        state[f"{page}_token"] = found


def _take_token(page: str) -> None:
    """A click on a token of the passages makes it the one that looks."""
    token = canvas.row_of(st.session_state[f"{page}_excerpt"].row)
    if token is not None:
        st.session_state[f"{page}_token"] = token


def _listed(
    weights: np.ndarray, keys: tuple[Position, ...], most: int, height: int | str = "auto"
) -> None:
    """The strongest keys, each with the words around it."""
    found = long_rows.strongest(weights, most)
    columns = [say("table_position"), say("table_weight"), say("long_context")]
    rows = [(index, weights[index], long_rows.context(keys, index)) for index in found]
    st.dataframe(
        pd.DataFrame(rows, columns=columns),
        hide_index=True,
        height=height,
        column_config={
            columns[0]: st.column_config.NumberColumn(width=70),
            columns[1]: st.column_config.NumberColumn(format="%.4f", width=70),
        },
    )
