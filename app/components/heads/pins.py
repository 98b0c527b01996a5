"""Pins: the token whose row is pinned, remembered by what it reads."""

import streamlit as st

from app.components import canvas
from app.components.head_panel import HeadPanel
from app.components.state import Pin
from core.models.text.labels import CONTINUES, SPACE
from core.picture.canvas.scene import labels


def pinned(panel: HeadPanel, pin: str | None) -> int | None:
    """The row of the token that the visitor pinned, where this map has it; at first, `pin`'s."""
    last = panel.state.heads.pin or (pin and Pin(pin))
    if not last or last.token is None:
        return None
    return row_of(last, labels(panel.view.queries))


def row_of(pin: Pin, tokens: list[str]) -> int | None:
    """Where a pinned token stands among others; None where there is none like it."""
    rows = [row for row, token in enumerate(tokens) if bare(token) == pin.token]
    return rows[min(pin.place, len(rows) - 1)] if rows else None


def remember_pin(panel: HeadPanel) -> None:
    """Remember the pinned token, so that it outlives a change of mechanism, model or sentence."""
    row = canvas.row_of(st.session_state[f"{panel.page}_map"].row)
    names = [bare(label) for label in labels(panel.view.queries)]
    if row is None or row >= len(names):
        panel.state.heads.pin = Pin(None)
        return
    panel.state.heads.pin = Pin(names[row], names[:row].count(names[row]))


def bare(label: str) -> str:
    """A token's label without the signs of its tokenizer: spaces and 'goes on'."""
    return label.replace(SPACE, "").removeprefix(CONTINUES) or label
