"""Results of the lab: the curves, who is cheaper from where on, and the numbers at one length."""

from functools import partial

import streamlit as st

from app.charts import dots, sweep
from app.components.downloads import buttons
from app.components.uploads import present
from app.views.lab.sweep import crossovers as sweep_crossovers
from app.views.lab.sweep import table
from app.words import plain, say
from core.bench.results.tidy import beside, to_csv
from core.bench.sweep.messages import Machine
from core.bench.sweep.saved import Results, from_json, of_kind, to_json
from core.errors import InputError


def curves(results: Results, before: Results | None = None) -> None:
    """Both charts, side by side; another run's curves are dotted."""
    known = table.lengths(results)
    if not known:
        return
    left, right = st.columns(2, gap="medium")
    config = {"displayModeBar": False}
    by_formula, one = results.plan.by_formula, len(results.plan.points) == 1
    time = dots.time_dots if one else partial(sweep.time_chart, before=before)
    memory = dots.memory_dots if one else partial(sweep.memory_chart, before=before)
    with left:
        st.subheader(say("lab_time"))
        st.plotly_chart(time(results), key="lab_time", config=config)
        if by_formula:
            st.caption(say("lab_time_help_one" if one else "lab_time_help"))
    with right:
        st.subheader(say("lab_memory"))
        st.plotly_chart(memory(results), key="lab_memory", config=config)
        if by_formula:
            st.caption(say("lab_memory_help_one" if one else "lab_memory_help"))


def crossovers(results: Results) -> None:
    """From which length on a mechanism is cheaper than the base."""
    sentences = sweep_crossovers.sentences(results)
    if sentences:
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in sentences))


@st.fragment
def numbers(results: Results) -> None:
    """The table at one length, what is to be known about it, and the files."""
    known = table.lengths(results)
    if not known:
        return
    length = st.selectbox(
        say("lab_at"), known, len(known) - 1,
        format_func=lambda length: say(
            "lab_positions", length=length, unit=sweep.unit_of(results.plan)
        ),
        key=f"lab_at_{known}",
    )  # fmt: skip
    data = table.table(results, length)
    digits = st.column_config.NumberColumn(format="%.3g")
    numeric = dict.fromkeys(data.select_dtypes("number"), digits)
    st.dataframe(data, hide_index=True, column_config=numeric)
    st.caption(say("lab_table_help"))
    for note in table.notes(results, length):
        st.caption(plain(note))
    files = {
        "JSON": ("json", "application/json", lambda: to_json(results)),
        "CSV": ("csv", "text/csv", lambda: to_csv(results)),
    }
    buttons(files, "lab", "lab", say("lab_downloads"))


def saved_run() -> Results | None:
    """A run that was saved before, by the visitor's file; None, and one sentence, if it is none."""
    with st.expander(say("lab_before")):
        upload = st.file_uploader(
            say("lab_before_label"), "json", key="lab_before", help=say("lab_before_help"),
            label_visibility="collapsed",
        )  # fmt: skip
        file = present(upload)
        if file is None:
            st.caption(say("lab_before_help"))
            return None
        try:
            found = from_json(file.getvalue().decode("utf-8", "replace"))
        except InputError as error:
            st.warning(plain(error))
            return None
        machines = of_kind(found.messages, Machine)
        if machines:
            machine = machines[-1]
            told = {"name": file.name, "device": machine.name, "threads": machine.threads}
            torch = machine.versions.get("torch", "?")
            st.caption(plain(say("lab_before_file", torch=torch, **told)))
        return found


def both(today: Results, before: Results) -> None:
    """What the two runs have in common, side by side."""
    table = beside(today, before)
    if table.empty:
        st.caption(say("lab_before_none"))
        return
    digits = st.column_config.NumberColumn(format="%.3g")
    times = {name: digits for name in table if name.startswith(("ms_", "ratio"))}
    st.dataframe(table, hide_index=True, column_config=times)
    st.caption(say("lab_before_help_table"))
