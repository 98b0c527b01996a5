"""Long rows: what one token of a long text looks at, exactly: passages, a list, a file."""

import numpy as np
import pandas as pd
import streamlit as st

from app.components import canvas
from app.components.long_text import files
from app.services.runs import Kept
from app.words import say
from core.maps import long_rows
from core.maps.head_view import Choice
from core.picture.canvas.excerpt import excerpt_data
from core.picture.canvas.views import CanvasStyle
from core.picture.files import export
from core.types import Position

LISTED = 100  # keys of the table; the file beside it holds all of them


def show(kept: Kept, choice: Choice, name: str, style: CanvasStyle, key: str) -> None:
    """The token that looks, the passages that matter to it, and its strongest keys."""
    query = ask(kept, choice, key)
    if query is None:
        st.caption(say("long_no_token"))
        return
    queries, keys = sides(kept, choice)
    weights = long_rows.exact_row(kept.run, choice, query)
    same = queries == keys
    passages = long_rows.passages(weights, (query,) if same else ())
    scene = excerpt_data(
        weights, keys, passages,
        query=query, label=queries[query].label, run=name, chooses=same, style=style,
    )  # fmt: skip
    left, right = st.columns([2, 1], gap="medium")
    with left:
        canvas.excerpt(scene, key=f"{key}_excerpt", on_row_change=lambda: _keep_token(key))
    with right:
        _listed(weights, keys, long_rows.STRONGEST, height=260)


def table(kept: Kept, choice: Choice, key: str) -> None:
    """The strongest keys of the token that looks, and all of them as a file."""
    query = ask(kept, choice, key)
    if query is None:
        st.caption(say("long_no_token"))
        return
    weights = long_rows.exact_row(kept.run, choice, query)
    _listed(weights, sides(kept, choice)[1], LISTED)
    st.caption(say("row_sum", count=f"{len(weights):,}", total=float(weights.sum())))
    given = files.name_of(kept.wanted.given[choice.item])
    st.download_button(
        say("long_row_file", count=f"{len(weights):,}"),
        lambda: export.to_csv(long_rows.labelled_row(kept.run, choice, query, given)),
        f"{kept.wanted.model}-layer{choice.layer}-head{choice.head}-token{query}.csv",
        "text/csv",
        on_click="ignore",
        key=f"{key}_row_file",
    )


def ask(kept: Kept, choice: Choice, key: str) -> int | None:
    """Which token looks: by its number, by words to find, or by a click in map and passages."""
    queries = sides(kept, choice)[0]
    number, words, again = st.columns([1, 2, 1], vertical_alignment="bottom")
    query = number.number_input(
        say("long_token", last=f"{len(queries) - 1:,}"),
        0, len(queries) - 1,
        key=f"{key}_token", help=say("long_token_help"), persist_state="session",
    )  # fmt: skip
    words.text_input(
        say("long_find"),
        key=f"{key}_find",
        help=say("long_find_help"),
        on_change=lambda: _find(queries, key),
    )
    again.button(say("long_next"), key=f"{key}_next", on_click=lambda: _find(queries, key))
    missing = st.session_state.get(f"{key}_missing")
    if missing is not None and missing == st.session_state[f"{key}_find"]:
        st.caption(say("long_not_found"))
    return query


def sides(kept: Kept, choice: Choice) -> tuple[tuple[Position, ...], tuple[Position, ...]]:
    """Queries and keys of the text that is looked at."""
    group = kept.run.prepared.groups[choice.group]
    return group.queries[choice.item], group.keys[choice.item]


def _find(queries: tuple[Position, ...], key: str) -> None:
    state = st.session_state
    words, query = state[f"{key}_find"], state.get(f"{key}_token")
    found = long_rows.find(queries, words, -1 if query is None else query)
    state[f"{key}_missing"] = words if words.strip() and found is None else None
    if found is not None:
        state[f"{key}_token"] = found


def _keep_token(key: str) -> None:
    """A click on a token of the passages makes it the one that looks."""
    token = canvas.row_of(st.session_state[f"{key}_excerpt"].row)
    if token is not None:
        st.session_state[f"{key}_token"] = token


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
