"""Sweep of the lab: mechanisms on one attention call, over many lengths, and what that shows."""

import streamlit as st

from app import lab_charts, lab_table, loaders, shared
from app.downloads import buttons
from app.lab_running import Running
from app.words import say
from core.attention import MECHANISMS, unavailable
from core.bench.attention.estimate import in_bytes, in_time
from core.bench.attention.plan import Plan
from core.bench.attention.saved import Results, to_json
from core.bench.attention.summary import verdict
from core.errors import InputError
from core.models import devices

AGAIN = 0.7  # seconds between looks at a run
FIRST = ("standard", "flash", "linear", "favor")
SHORTEST = 128
LONGEST = (512, 1024, 2048, 4096, 8192, 16384)


def ask() -> Plan:
    """The form: arms and sizes; device and precision are those of the sidebar."""
    state = st.session_state
    device = str(devices.resolve(state["shared_device"]))
    with st.form("lab_form", border=False):
        arms = st.pills(
            say("lab_arms"), MECHANISMS, default=FIRST, selection_mode="multi", wrap=True,
            format_func=lambda name: MECHANISMS[name].title, key="lab_arms",
            persist_state="session", help=say("lab_arms_help"),
        )  # fmt: skip
        longest = st.select_slider(
            say("lab_longest"), LONGEST, 1024, format_func=lambda length: f"{length:,}",
            key="lab_longest", persist_state="session", help=say("lab_longest_help"),
        )  # fmt: skip
        with st.expander(say("lab_sizes")):
            columns = st.columns(4)
            keep = {"persist_state": "session", "step": 1}
            heads = columns[0].number_input(say("lab_heads"), value=8, key="lab_heads", **keep)
            dim = columns[1].number_input(say("lab_dim"), value=64, key="lab_dim", **keep)
            batch = columns[2].number_input(say("lab_batch"), value=1, key="lab_batch", **keep)
            rounds = columns[3].number_input(
                say("lab_rounds"), value=5, key="lab_rounds", help=say("lab_rounds_help"), **keep
            )
            causal = st.toggle(say("lab_causal"), key="lab_causal", persist_state="session")
            backward = st.toggle(
                say("lab_backward"), key="lab_backward", persist_state="session",
                help=say("lab_backward_help"),
            )  # fmt: skip
            st.caption(say("lab_precision"))
        if st.form_submit_button(say("lab_run"), type="primary", key="lab_run"):
            state["lab_wanted"] = True
    lengths = tuple(length for length in doubling() if length <= longest)
    return Plan(
        arms=tuple(arms), lengths=lengths, batch=batch, heads=heads, dim=dim, causal=causal,
        precision=state["shared_precision"], backward=backward, rounds=rounds, device=device,
    )  # fmt: skip


def doubling() -> list[int]:
    """Lengths, each twice the one before."""
    return [SHORTEST << step for step in range(8)]


def start(plan: Plan) -> None:
    """End the run before and begin a new one; one sentence if the plan does not fit."""
    state = st.session_state
    before: Running | None = state.get("lab_running")
    try:
        running = Running(plan, loaders.turns())
    except InputError as error:
        st.warning(shared.plain(error))
        return
    if before is not None:
        before.cancel()
    state["lab_running"] = running


def watch(running: Running) -> None:
    """The curves as they grow, with a Cancel; the page is shown again at the end."""
    running.look()
    if running.finished.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        progress = running.progress
        text = say("lab_progress", doing=shared.plain(progress.doing), share=progress.share)
        if running.ahead:
            text = say("lab_waiting", ahead=running.ahead)
        st.progress(progress.share, text=text)
        st.button(say("cancel"), key="lab_cancel", on_click=running.cancel)
    found = running.sweep.estimate
    st.caption(say("lab_estimate", time=in_time(found.seconds), memory=in_bytes(found.peak_bytes)))
    curves(running.results)


def curves(results: Results) -> None:
    """Both charts, side by side."""
    known = lab_table.lengths(results)
    if not known:
        return
    left, right = st.columns(2, gap="medium")
    config = {"displayModeBar": False}
    with left:
        st.subheader(say("lab_time"))
        st.plotly_chart(lab_charts.time_chart(results), key="lab_time", config=config)
    with right:
        st.subheader(say("lab_memory"))
        st.plotly_chart(lab_charts.memory_chart(results), key="lab_memory", config=config)


@st.fragment
def numbers(results: Results) -> None:
    """The table at one length, what is to be known about it, and the files."""
    known = lab_table.lengths(results)
    if not known:
        return
    length = st.selectbox(
        say("lab_at"), known, len(known) - 1,
        format_func=lambda length: say("lab_positions", length=length), key=f"lab_at_{known}",
    )  # fmt: skip
    data = lab_table.table(results, length)
    digits = st.column_config.NumberColumn(format="%.3g")
    numeric = dict.fromkeys(data.select_dtypes("number"), digits)
    st.dataframe(data, hide_index=True, column_config=numeric)
    st.caption(say("lab_table_help"))
    for note in lab_table.notes(results, length):
        st.caption(shared.plain(note))
    files = {
        "JSON": ("json", "application/json", lambda: to_json(results)),
        "CSV": ("csv", "text/csv", lambda: data.to_csv(index=False)),
    }
    buttons(files, "lab", "lab", say("lab_downloads"))


def reasons(plan: Plan) -> None:
    """Mechanisms that cannot run here, and why."""
    where = devices.resolve(plan.device)
    for name in MECHANISMS:
        reason = unavailable(name, where, plan.dtype)
        if reason is not None:
            title = MECHANISMS[name].title
            st.caption(f"{title}: {say('unavailable', reason=shared.plain(reason))}")


def show() -> None:
    """Ask, run, and show what was found; the verdict stands first."""
    place = st.empty()
    plan = ask()
    reasons(plan)
    if st.session_state.setdefault("lab_wanted", True):  # the first visit starts by itself
        st.session_state["lab_wanted"] = False
        start(plan)
    running: Running | None = st.session_state.get("lab_running")
    if running is None:
        st.info(say("lab_empty"))
        return
    if not running.finished.is_set():
        st.fragment(watch, run_every=AGAIN)(running)
        return
    if running.error:
        st.warning(shared.plain(running.error))
    elif running.sweep.cancelled:
        st.caption(say("lab_cancelled"))
    found = verdict(running.results)
    if found is not None:
        place.markdown(f"**{shared.plain(found.sentence())}**")
    curves(running.results)
    numbers(running.results)
