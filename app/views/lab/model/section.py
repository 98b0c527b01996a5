"""A whole model under every mechanism: time, memory, drift, and which layers bear it."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.charts import model as charts_model
from app.components import page, progress
from app.components.downloads import buttons
from app.services import loaders
from app.services.jobs.job import Status, connection
from app.services.jobs.model import ModelJob
from app.services.pictures import text_or_picture
from app.views.lab.model import ask, table
from app.views.lab.model.ask import StudyInputs
from app.views.lab.model.state import model_state
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
    inputs = ask.form()
    slot, state = st.empty(), model_state()
    if state.run_pressed:
        state.run_pressed = False
        start(inputs, slot)
    if state.job is None:
        st.info(say("lab_whole_empty"))
    elif state.busy:
        st.fragment(watch, run_every=AGAIN)(state.job)
    else:
        stale = state.job.request != inputs.request
        ended(state.job, stale)
        if state.job.study is not None:
            with st.container(key="lab_whole_found_stale" if stale else "lab_whole_found"):
                results(state.job.study, st.empty() if stale else place)


def start(inputs: StudyInputs, slot: DeltaGenerator) -> None:
    """Load the model, read the input, end the job before and begin a new one; or one sentence."""
    state, request = model_state(), inputs.request
    with page.guarded():
        # Cancel starts the page again, where Run is not pressed any more.
        how = (request.run.model, slot, "lab_whole_load", lambda: None)
        with progress.progress(*how) as callbacks:
            model = loaders.reader_for(request.run, callbacks)
        check(model, request.mechanisms)
        prepared = model.prepare(text_or_picture(request.run, inputs.picture))
        if state.job is not None:
            state.job.cancel()
        state.layers[request.run.model] = layers_of(prepared)
        state.job = ModelJob(request, model, prepared, loaders.turns(), connection())
        st.rerun()  # now it is known how many layers there are to choose from


def watch(job: ModelJob) -> None:
    """What has come so far, with a Cancel; the page is shown again at the end."""
    job.seen()
    if job.finished.is_set():
        st.rerun()
    with st.container(horizontal=True, vertical_alignment="center"):
        st.progress(job.share, text=doing(job))
        st.button(say("cancel"), key="lab_whole_cancel", on_click=job.cancel)
    if job.study is not None:
        numbers(job.study)
        picture(job.study)


def doing(job: ModelJob) -> str:
    """What the bar says."""
    if job.ahead:
        return say("lab_waiting", ahead=job.ahead)
    words = {"model": plain(job.request.run.model), "share": job.share}
    if job.left is None or job.left < TELLING:
        return say("lab_whole_progress", **words)
    return say("lab_whole_left", left=in_time(job.left), **words)


def ended(job: ModelJob, stale: bool) -> None:
    """How the job ended, and whether it was of what is chosen now."""
    if job.status is Status.FAILED:
        st.warning(plain(job.error))
    elif job.status is Status.CANCELLED:
        st.caption(say("lab_whole_cancelled" if job.study else "lab_whole_nothing"))
    if stale:
        st.caption(say("lab_whole_stale"))
    for note in job.notes:
        st.caption(plain(note))


def results(study: ModelStudy, place: DeltaGenerator) -> None:
    """The verdict, the table, the picture and the files."""
    found = verdict(study)
    if found is not None:
        place.markdown(f"**{plain(found)}**")
    numbers(study)
    picture(study)
    files = {
        "JSON": ("json", "application/json", lambda: to_json(study)),
        "CSV": ("csv", "text/csv", lambda: to_csv(study)),
    }
    if study.cells:
        files["HTML"] = ("html", "text/html", lambda: charts_model.page(study))
    buttons(files, f"lab-{study.model}", "lab_whole", say("lab_whole_downloads"))


def numbers(study: ModelStudy) -> None:
    """The table, why some of it is empty, and what the chosen layers mean."""
    st.subheader(say("lab_whole_table"))
    st.caption(about(study))
    data = table.table(study)
    digits = st.column_config.NumberColumn(format="%.3g")
    columns = dict.fromkeys(data.select_dtypes("number"), digits)
    st.dataframe(data, hide_index=True, column_config=columns)
    text = say("lab_whole_table_help", what=study.own.drift.what)
    if study.own.drift.shifts:
        text += f" {say('lab_whole_first_help')}"
    st.caption(text)
    for note in table.notes(study):
        st.caption(plain(note))
    chosen = list(of_range(study))
    if chosen:
        st.subheader(say("lab_whole_use"))
        lines(chosen)


def picture(study: ModelStudy) -> None:
    """Which layers bear which mechanism."""
    if not study.cells:
        return
    st.subheader(say("lab_whole_bearing"))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        figure = charts_model.layer_drift_chart(study, st.context.theme.type)
        st.plotly_chart(figure, key="lab_whole_chart", config={"displayModeBar": False})
    with right:
        st.caption(say("lab_whole_bearing_help", what=study.own.drift.what))
        lines(list(tolerant_layers(study)))
        if any(MECHANISMS[name].exact for name in study.mechanisms):
            st.caption(say("lab_whole_exact"))


def about(study: ModelStudy) -> str:
    """The quiet line over the table."""
    passes = say("lab_whole_rounds", rounds=len(study.own.samples))
    time = study.own.milliseconds.median
    return say(
        "lab_whole_line", model=plain(study.model), positions=study.positions,
        layers=len(study.layers), where=say(f"lab_whole_{study.device}"),
        precision=study.precision, time=f"{time:,.0f} ms" if time >= 100 else f"{time:.3g} ms",
        passes=say("lab_whole_once", slow=SLOW) if study.slow else passes,
    )  # fmt: skip


def lines(sentences: list[str]) -> None:
    """Sentences, one a line."""
    st.markdown("\n".join(f"- {plain(each)}" for each in sentences))
