"""Panel: one head of a run, and how a page shows it."""

from dataclasses import dataclass

import streamlit as st

from app.components import canvas
from app.components.state import PageState, state_of
from app.services.runs import RunResult
from core.maps.head_view import Choice, HeadView
from core.picture.canvas.views import CanvasStyle
from core.types import Position


@dataclass(frozen=True)
class HeadPanel:
    """What every part of the page that shows this head reads."""

    result: RunResult
    choice: Choice
    view: HeadView
    style: CanvasStyle
    page: str  # what the keys of its widgets begin with

    @property
    def name(self) -> str:
        """What the views of one sentence, shown in one way, call themselves to find each other."""
        choice = self.choice
        parts = (choice.item, choice.group, choice.hide_special, choice.by_word, choice.leave_first)
        return "-".join(str(part) for part in (self.result.request.name, *parts))

    @property
    def state(self) -> PageState:
        """What the page remembers."""
        return state_of(self.page)

    @property
    def queries(self) -> tuple[Position, ...]:
        """All queries of the sentence, those included that the view leaves out."""
        return self.result.run.prepared.groups[self.choice.group].queries[self.choice.item]

    @property
    def keys(self) -> tuple[Position, ...]:
        """All keys of the sentence."""
        return self.result.run.prepared.groups[self.choice.group].keys[self.choice.item]

    def remember_scale(self, key: str) -> None:
        """Keep what the colours of the canvas `key` were told to follow: files are made so too."""
        self.state.heads.scale = canvas.scale_of(st.session_state[key].scale)
