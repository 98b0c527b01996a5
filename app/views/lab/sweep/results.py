"""Results of the lab: the curves, who is cheaper from where on, and the numbers at one length."""

import pandas as pd
import streamlit as st

from app.charts import dots, sweep
from app.components.downloads import buttons
from app.views.lab.sweep import crossovers as sweep_crossovers
from app.views.lab.sweep import table
from app.words import plain, say
from core.bench.sweep.saved import Results, to_json


def curves(results: Results) -> None:
    """Both charts, side by side."""
    known = table.lengths(results)
    if not known:
        return
    left, right = st.columns(2, gap="medium")
    config = {"displayModeBar": False}
    by_formula, one = results.plan.by_formula, len(results.plan.lengths) == 1
    time = dots.time_dots if one else sweep.time_chart
    memory = dots.memory_dots if one else sweep.memory_chart
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
        format_func=lambda length: say("lab_positions", length=length), key=f"lab_at_{known}",
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
        "CSV": ("csv", "text/csv", lambda: every_length(results).to_csv(index=False)),
    }
    buttons(files, "lab", "lab", say("lab_downloads"))


def every_length(results: Results) -> pd.DataFrame:
    """The tables of all lengths, one below the other."""
    tables = {length: table.table(results, length) for length in table.lengths(results)}
    for length, data in tables.items():
        data.insert(0, say("lab_length_axis"), length)
    return pd.concat(tables.values(), ignore_index=True)
