"""Row of maps of the lab: the same head by every mechanism that was measured, side by side."""

from functools import partial
from typing import NamedTuple

import streamlit as st

from app.components import canvas, page, progress, sidebar
from app.components.downloads import buttons
from app.services.jobs.sweep import SweepJob
from app.views.lab.sweep.state import sweep_state
from app.words import plain, say
from core.attention import MECHANISMS
from core.bench.sweep.messages import Timing
from core.bench.sweep.model_inputs import ModelCall
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import of_kind
from core.capture.trace import AttentionCall
from core.maps.by_mechanism import SAME, HeadMap, MapRow, map_row, random_call
from core.models import MODELS
from core.picture.files.map_row import row_csv, row_npz, row_png, row_scenes, title
from core.types import Position

A_LINE = 3  # side by side


class Subject(NamedTuple):
    """The call whose maps are shown."""

    call: AttentionCall
    positions: tuple[Position, ...]
    name: str  # what the views of one call share in the browser
    about: str  # where q and k come from


def subject_of(plan: Plan, model_call: ModelCall | None) -> Subject:
    """The model's call, or a short random one of the same heads."""
    if model_call is None:
        call = random_call(plan.heads, plan.dim, causal=plan.causal, seed=plan.seed)
        positions = tuple(Position(str(index)) for index in range(call.queries))
        about = say("lab_maps_random", length=call.queries)
        name = f"lab-random-{plan.heads}-{plan.dim}-{plan.seed}-{plan.causal}"
        return Subject(call, positions, name, about)
    origin = model_call.origin
    about = say(
        "lab_maps_given", model=origin.model, layer=origin.layer, label=origin.label,
        length=model_call.call.queries,
    )  # fmt: skip
    name = f"lab-{origin.digest[:16]}-{origin.layer}-{origin.model}"
    return Subject(model_call.call, model_call.positions, name, about)


@st.fragment
def show(job: SweepJob) -> None:
    """The maps of one head, each with its total variation from softmax."""
    plan, call = job.sweep.plan, job.call
    measured = {each.mechanism for each in of_kind(job.results.messages, Timing)}
    mechanisms = tuple(mechanism for mechanism in plan.mechanisms if mechanism in measured)
    if not mechanisms:
        return
    with page.guarded():
        subject = subject_of(plan, call)
        st.subheader(say("lab_maps"))
        entry = None if call is None else MODELS.get(call.origin.model)
        first = entry.first_look[1] if entry else 0
        head = st.selectbox(
            say("head"), range(plan.heads), min(first, plan.heads - 1),
            key=f"lab_head_{subject.name}_{plan.heads}", help=say("head_help"), width=160,
        )  # fmt: skip
        row = _row(subject, mechanisms, head)
        note = say("lab_maps_pooled", cell=row.cell) if row.cell > 1 else ""
        st.caption(plain(f"{subject.about}{note}"))
        draw(row, subject)
        for reason in row.refused:
            st.caption(plain(reason))
        download(row, subject, head)


def draw(row: MapRow, subject: Subject) -> None:
    """The maps, some beside each other; one below the other on a narrow screen."""
    style = sidebar.canvas_style()._replace(words={"map_hint": "", "stale": ""})
    scenes = row_scenes(row, subject.positions, run=subject.name, style=style)
    for start in range(0, len(scenes), A_LINE):
        columns = st.columns(A_LINE, gap="medium")
        for place, column in enumerate(columns[: len(scenes) - start], start):
            each = row.maps[place]
            with column:
                st.markdown(f"**{plain(title(each))}**")
                st.caption(how_far(each, len(subject.positions)))
                canvas.head_map(scenes[place], key=f"lab_map_{place}")
    st.caption(say("lab_maps_hint"))


def how_far(shown: HeadMap, length: int) -> str:
    """The distance from softmax; where an approximation has none, that nothing was tested."""
    if any(not MECHANISMS[name].exact for name in shown.mechanisms) and shown.variation < SAME:
        return say("lab_map_untested", length=f"{length:,}")
    same = "_same" if len(shown.mechanisms) > 1 else ""
    return say(f"lab_map_variation{same}", variation=shown.variation)


def download(row: MapRow, subject: Subject, head: int) -> None:
    """The row as one picture, or as numbers."""
    about = [subject.about, say("lab_maps_head", head=head)]
    palette = st.session_state["shared_palette"]
    files = {
        "PNG": ("png", "image/png", lambda: row_png(row, subject.positions, about, palette)),
        "NPZ": ("npz", "application/zip", lambda: row_npz(row, subject.positions, about)),
        "CSV": ("csv", "text/csv", lambda: row_csv(row, subject.positions, about)),
    }
    buttons(files, f"lab-maps-head{head}", "lab_maps", say("lab_maps_downloads"))


def _row(subject: Subject, mechanisms: tuple[str, ...], head: int) -> MapRow:
    """Made once for a head: other choices on the page ask for it again and again."""
    state, name = sweep_state(), (subject.name, mechanisms, head)
    if state.row_name != name:
        with progress.progress(subject.about, st.empty(), "lab_maps") as callbacks:
            on_map = partial(callbacks.on_progress, "lab_drawing")
            state.row = map_row(subject.call, mechanisms, head, on_map)
        state.row_name = name
    return state.row
