"""Next tokens: what a decoder would say after any position of its text, as bars."""

import pandas as pd
import streamlit as st

from app.components.head_panel import HeadPanel
from app.components.heads import pins
from app.services import runs
from app.words import say
from core.maps import head_view
from core.picture.canvas.scene import labels

ROW = 35  # pixels of a line of the table


def show(panel: HeadPanel, pin: str | None) -> None:
    """The likeliest tokens after a position: the pinned one at first, else the last."""
    result, item = panel.result, panel.choice.item
    if not result.run.output.predictions or len(result.run.prepared.groups) > 1:
        return
    st.subheader(say("next_title"))
    left, right = st.columns([1, 2], gap="medium")
    with left:
        position = place(panel, pin)
    likely = runs.next_tokens(result, item, position)
    columns = [say("next_token"), say("next_probability")]
    right.dataframe(
        pd.DataFrame(likely, columns=columns),
        hide_index=True,
        height=ROW * (len(likely) + 1) + 3,
        column_config={
            columns[1]: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=1.0)
        },
    )


def place(panel: HeadPanel, pin: str | None) -> int:
    """The position that the visitor chose; a token that is pinned later takes its place."""
    tokens, state = labels(panel.queries), st.session_state
    if head_view.is_long(panel.result.run, panel.choice):
        first = state.get(f"{panel.page}_token")
    else:
        pinned = panel.state.heads.pin or (pins.Pin(pin) if pin else None)
        first = pins.row_of(pinned, tokens) if pinned else None
    first = len(tokens) - 1 if first is None else first
    how = {"help": say("next_after_help"), "key": f"{panel.page}_next_{panel.name}_{first}"}
    if head_view.is_long(panel.result.run, panel.choice):  # too many for a list
        last = len(tokens) - 1
        return st.number_input(say("next_position", last=last), 0, last, first, **how)
    return st.selectbox(
        say("next_after"), range(len(tokens)), first,
        format_func=lambda index: f"{index}  {tokens[index]}", **how,
    )  # fmt: skip
