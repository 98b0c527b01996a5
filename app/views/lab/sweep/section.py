"""Sweep of the lab: mechanisms on one attention call, over many lengths, and what that shows."""

import streamlit as st

from app.components import progress as components_progress
from app.components import sidebar
from app.services import runs
from app.services.background import connection
from app.services.sweep_job import Running
from app.views.lab.sweep import ask, maps, results
from app.views.lab.sweep.ask import Asked
from app.words import plain, say
from core.bench.results.summary import verdict
from core.bench.sweep.estimate import in_bytes, in_time
from core.errors import InputError

AGAIN = 1.0  # seconds between looks at a run: drawing takes from the cores that are measured


def reasons() -> None:
    """Mechanisms that cannot run here, and why."""
    told = [sidebar.unavailable_line(name, reason) for name, reason in sidebar.reasons().items()]
    if told:
        st.caption(" · ".join(told))


def want() -> None:
    """What Run means. A run of one's own would keep the model waiting, so it ends now."""
    state = st.session_state
    state["lab_wanted"] = True
    components_progress.start_again("lab_given")
    running: Running | None = state.get("lab_running")
    if running is not None and state.get("lab_source") != "random":
        running.cancel()


def start(asked: Asked) -> None:
    """End the run before and begin a new one; one sentence if the plan does not fit."""
    state = st.session_state
    before: Running | None = state.get("lab_running")
    try:
        running = Running(asked.plan, runs.turns(), asked.taken, connection())
    except InputError as error:
        st.warning(plain(error))
        return
    if before is not None:
        before.cancel()
    state["lab_running"] = running


def run_button(asked: Asked | None) -> None:
    """The estimate beside Run, which lights up where something else would be measured."""
    state = st.session_state
    wanted = state.setdefault("lab_wanted", True)  # the first visit starts by itself
    state["lab_wanted"] = False
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="left"):
        place = st.empty()
        with st.container():
            fits = asked is not None and ask.estimate(asked.plan) is not None
    if wanted and fits:
        start(asked)
    running: Running | None = state.get("lab_running")
    new = asked is not None and (running is None or asked.plan != running.sweep.plan)
    place.button(
        say("lab_run"), type="primary" if new else "secondary", key="lab_run", on_click=want
    )


def watch(running: Running) -> None:
    """The curves as they grow, with a Cancel; the page is shown again at the end."""
    running.look()
    if running.finished.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        progress = running.progress
        text = say("lab_progress", doing=plain(progress.doing), share=progress.share)
        if running.ahead:
            text = say("lab_waiting", ahead=running.ahead)
        st.progress(progress.share, text=text)
        st.button(say("cancel"), key="lab_cancel", on_click=running.cancel)
    found = running.sweep.estimate
    st.caption(say("lab_running", time=in_time(found.seconds), memory=in_bytes(found.peak_bytes)))
    results.curves(running.results)


def show() -> None:
    """Ask, run, and show what was found; the verdict stands first."""
    place = st.empty()
    asked = ask.ask()
    reasons()
    run_button(asked)
    running: Running | None = st.session_state.get("lab_running")
    if running is None:
        st.info(say("lab_empty"))
        return
    if not running.finished.is_set():
        st.fragment(watch, run_every=AGAIN)(running)
        return
    if running.error:
        st.warning(plain(running.error))
    elif running.sweep.cancelled:
        st.caption(say("lab_cancelled"))
    found = verdict(running.results)
    if found is not None:
        place.markdown(f"**{plain(found.sentence())}**")
    stale = asked is not None and asked.plan != running.sweep.plan
    if stale:
        st.caption(say("lab_stale"))
    with st.container(key="lab_found_stale" if stale else "lab_found"):
        results.curves(running.results)
        results.crossovers(running.results)
        maps.show(running)
        results.numbers(running.results)
