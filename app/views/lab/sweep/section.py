"""Sweep of the lab: mechanisms on one attention call, over many lengths, and what that shows."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components import progress as components_progress
from app.components import sidebar
from app.services import loaders
from app.services.jobs.job import Status, connection
from app.services.jobs.sweep import SweepJob
from app.views.lab.sweep import ask, maps, results
from app.views.lab.sweep.ask import SweepRequest
from app.views.lab.sweep.state import sweep_state
from app.words import plain, say
from core.attention import title_of
from core.bench.results.summary import unsure, verdict
from core.bench.sweep.estimate import in_bytes, in_time
from core.errors import InputError

AGAIN = 1.0  # seconds between looks at a run: drawing takes from the cores that are measured


def reasons() -> None:
    """Mechanisms that cannot run here, and why."""
    lines = [sidebar.unavailable_line(name, reason) for name, reason in sidebar.reasons().items()]
    if lines:
        st.caption(" · ".join(lines))


def press_run() -> None:
    """What Run means. A job of one's own would keep the model waiting, so it ends now."""
    state = sweep_state()
    state.run_pressed = True
    components_progress.start_again("lab_given")
    if state.job is not None and st.session_state.get("lab_source") != "random":
        state.job.cancel()


def start(request: SweepRequest) -> None:
    """End the job before and begin a new one; one sentence if the plan does not fit."""
    state = sweep_state()
    try:
        job = SweepJob(request.plan, loaders.turns(), request.call, connection())
    except InputError as error:
        st.warning(plain(error))
        return
    if state.job is not None:
        state.job.cancel()
    state.job = job


def run_button(request: SweepRequest | None) -> None:
    """The estimate beside Run, which lights up where something else would be measured."""
    state = sweep_state()
    pressed, state.run_pressed = state.run_pressed, False
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="left"):
        place = st.empty()
        with st.container():
            fits = request is not None and ask.estimate(request.plan) is not None
    if pressed and fits:
        start(request)
    new = request is not None and (state.job is None or request.plan != state.job.sweep.plan)
    place.button(
        say("lab_run"), type="primary" if new else "secondary", key="lab_run", on_click=press_run
    )


def watch(job: SweepJob) -> None:
    """The curves as they grow, with a Cancel; the page is shown again at the end."""
    job.seen()
    if job.finished.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        progress = job.progress
        text = say("lab_progress", doing=plain(progress.doing), share=progress.share)
        if job.ahead:
            text = say("lab_waiting", ahead=job.ahead)
        st.progress(progress.share, text=text)
        st.button(say("cancel"), key="lab_cancel", on_click=job.cancel)
    cost = job.sweep.estimate
    st.caption(say("lab_running", time=in_time(cost.seconds), memory=in_bytes(cost.peak_bytes)))
    results.curves(job.results)


def show() -> None:
    """Ask, run, and show what was found; the verdict stands first."""
    place = st.empty()
    request = ask.form()
    reasons()
    run_button(request)
    state = sweep_state()
    if state.job is None:
        st.info(say("lab_empty"))
    elif state.busy:
        st.fragment(watch, run_every=AGAIN)(state.job)
    else:
        ended(state.job, request is not None and request.plan != state.job.sweep.plan, place)


def ended(job: SweepJob, stale: bool, place: DeltaGenerator) -> None:
    """How the job ended, and what it found."""
    if job.status is Status.FAILED:
        st.warning(plain(job.error))
    elif job.status is Status.CANCELLED:
        st.caption(say("lab_cancelled"))
    found = verdict(job.results)
    if found is not None:
        place.markdown(f"**{plain(found.sentence())}**")
    busy = unsure(job.results)
    if busy:
        points = ", ".join(f"{title_of(name)} at {length:,}" for name, length in busy)
        st.error(say("lab_busy", points=plain(points)))
    if job.sweep.plan.keep_memory:
        st.caption(say("lab_memory_kept"))
    if stale:
        st.caption(say("lab_stale"))
    with st.container(key="lab_found_stale" if stale else "lab_found"):
        before = results.saved_run()
        results.curves(job.results, before)
        if before is not None:
            results.both(job.results, before)
        results.crossovers(job.results)
        maps.show(job)
        results.numbers(job.results)
