"""Choosing: one of few choices, side by side."""

import streamlit as st

from app.words import WORDS, say


def chooser(label: str, choices: tuple[str, ...], key: str, prefix: str) -> str:
    """One of few, side by side; words by the prefix and the choice, help where there is some."""
    return st.segmented_control(
        say(label),
        choices,
        format_func=lambda choice: say(prefix + choice),
        default=choices[0],
        required=True,
        wrap=True,
        key=key,
        persist_state="session",
        help=WORDS.get(f"{label}_help"),
    )
