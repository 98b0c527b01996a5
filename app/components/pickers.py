"""Pickers: one of few choices side by side, and the model."""

import streamlit as st

from app.words import WORDS, say
from core.models import MODELS, Kind


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


def model_picker(kind: Kind, key: str, *more: Kind) -> str:
    """A listed model of a kind or several, or any name or folder that the visitor types instead."""
    names = [name for name, entry in MODELS.items() if entry.kind in (kind, *more)]
    return st.selectbox(
        say("model"),
        names,
        format_func=title,
        accept_new_options=True,
        key=f"{key}_model",
        persist_state="session",
        help=say("model_help"),
    )


def title(name: str) -> str:
    """A listed model's title, or the name that was typed."""
    if name not in MODELS:
        return name
    entry = MODELS[name]
    return entry.title if entry.where == "offline" else say("from_hub", title=entry.title)
