"""A whole model under every mechanism: time, memory, drift, and which layers bear it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.charts import model as charts_model
from app.components import page, progress
from app.components.downloads import buttons
from app.services import runs
from app.services.background import connection
from app.services.model_job import Running
from app.views.lab.model import ask, table
from app.views.lab.model.ask import Asked
from app.words import plain, say
from core.attention import MECHANISMS
from core.bench.cost import SLOW
from core.bench.model.layers import layers_of
from core.bench.model.saved import to_csv, to_json
from core.bench.model.study import ModelStudy, check
from core.bench.model.verdict import of_range, tolerant_layers, verdict
from core.bench.sweep.estimate import in_time

AGAIN = 1.5  # seconds between looks at a run: drawing takes from the cores that are measured
TELLING = 4.0  # seconds after which a run tells how long it will still take


def show() -> None:
    """Ask, run, and show what was found; the verdict stands first."""
    place = st.empty()
    asked = ask.ask()
    slot = st.empty()
    if st.session_state.setdefault("lab_whole_wanted", True):  # the first visit starts by itself
        st.session_state["lab_whole_wanted"] = False
        start(asked, slot)
    running: Running | None = st.session_state.get("lab_whole_running")
    if running is None:
        st.info(say("lab_whole_empty"))
    elif not running.finished.is_set():
        st.fragment(watch, run_every=AGAIN)(running)
    else:
        ended(running, asked)
        stale = running.choice != asked.choice
        if running.whole is not None:
            with st.container(key="lab_whole_found_stale" if stale else "lab_whole_found"):
                results(running.whole, st.empty() if stale else place)


def start(asked: Asked, slot: DeltaGenerator) -> None:
    """Load the model, read the input, end the run before and begin a new one; or one sentence."""
    state, choice = st.session_state, asked.choice
    with page.guarded():
        # Cancel starts the page again, where nothing is wanted any more.
        how = (choice.wanted.model, slot, "lab_whole_load", lambda: None)
        with progress.progress(*how) as (tell, _):
            model = runs.reader_for(choice.wanted, tell)
        check(model, choice.mechanisms)
        prepared = model.prepare(asked.given())
        before: Running | None = state.get("lab_whole_running")
        if before is not None:
            before.cancel()
        ask.known()[choice.wanted.model] = layers_of(prepared)
        state["lab_whole_running"] = Running(choice, model, prepared, runs.turns(), connection())
        st.rerun()  # now it is known how many layers there are to choose from


def watch(running: Running) -> None:
    """What has come so far, with a Cancel; the page is shown again at the end."""
    running.look()
    if running.finished.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(running.share, text=doing(running))
        st.button(say("cancel"), key="lab_whole_cancel", on_click=running.cancel)
    if running.whole is not None:
        numbers(running.whole)
        picture(running.whole)


def doing(running: Running) -> str:
    """What the bar says."""
    if running.ahead:
        return say("lab_waiting", ahead=running.ahead)
    told = {"model": plain(running.choice.wanted.model), "share": running.share}
    if running.left is None or running.left < TELLING:
        return say("lab_whole_progress", **told)
    return say("lab_whole_left", left=in_time(running.left), **told)


def ended(running: Running, asked: Asked) -> None:
    """How the run ended, and whether it was of what is chosen now."""
    if running.error:
        st.warning(plain(running.error))
    elif running.cancelled:
        st.caption(say("lab_whole_cancelled" if running.whole else "lab_whole_nothing"))
    if running.choice != asked.choice:
        st.caption(say("lab_whole_stale"))
    for note in running.notes:
        st.caption(plain(note))


def results(whole: ModelStudy, place: DeltaGenerator) -> None:
    """The verdict, the table, the picture and the files."""
    found = verdict(whole)
    if found is not None:
        place.markdown(f"**{plain(found)}**")
    numbers(whole)
    picture(whole)
    files = {
        "JSON": ("json", "application/json", lambda: to_json(whole)),
        "CSV": ("csv", "text/csv", lambda: to_csv(whole)),
    }
    if whole.cells:
        files["HTML"] = ("html", "text/html", lambda: charts_model.page(whole))
    buttons(files, f"lab-{whole.model}", "lab_whole", say("lab_whole_downloads"))


def numbers(whole: ModelStudy) -> None:
    """The table, why some of it is empty, and what the chosen layers mean."""
    st.subheader(say("lab_whole_table"))
    st.caption(about(whole))
    data = table.table(whole)
    digits = st.column_config.NumberColumn(format="%.3g")
    columns = dict.fromkeys(data.select_dtypes("number"), digits)
    st.dataframe(data, hide_index=True, column_config=columns)
    told = say("lab_whole_table_help", what=whole.own.drift.what)
    if whole.own.drift.shifts:
        told += f" {say('lab_whole_first_help')}"
    st.caption(told)
    for note in table.notes(whole):
        st.caption(plain(note))
    chosen = list(of_range(whole))
    if chosen:
        st.subheader(say("lab_whole_use"))
        lines(chosen)


def picture(whole: ModelStudy) -> None:
    """Which layers bear which mechanism."""
    if not whole.cells:
        return
    st.subheader(say("lab_whole_bearing"))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        figure = charts_model.layer_drift_chart(whole, st.context.theme.type)
        st.plotly_chart(figure, key="lab_whole_chart", config={"displayModeBar": False})
    with right:
        st.caption(say("lab_whole_bearing_help", what=whole.own.drift.what))
        lines(list(tolerant_layers(whole)))
        if any(MECHANISMS[name].exact for name in whole.mechanisms):
            st.caption(say("lab_whole_exact"))


def about(whole: ModelStudy) -> str:
    """The quiet line over the table."""
    passes = say("lab_whole_rounds", rounds=len(whole.own.samples))
    time = whole.own.milliseconds.median
    return say(
        "lab_whole_line", model=plain(whole.model), positions=whole.positions,
        layers=len(whole.layers), where=say(f"lab_whole_{whole.device}"),
        precision=whole.precision, time=f"{time:,.0f} ms" if time >= 100 else f"{time:.3g} ms",
        passes=say("lab_whole_once", slow=SLOW) if whole.slow else passes,
    )  # fmt: skip


def lines(told: list[str]) -> None:
    """Sentences, one a line."""
    st.markdown("\n".join(f"- {plain(each)}" for each in told))
