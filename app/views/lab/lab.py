"""Lab page: what does each mechanism cost, and what does it do to the map?"""

import streamlit as st

from app.components.pickers import chooser
from app.views.lab.model import section as model_section
from app.views.lab.sweep import section as sweep_section
from app.words import say

SECTIONS = {"call": sweep_section.show, "model": model_section.show}
RUNS = {"call": "lab_running", "model": "lab_whole_running"}

st.title(say("lab_title"))
section = chooser("lab_section", tuple(SECTIONS), "lab_section", "lab_section_")
for other, key in RUNS.items():  # two runs of one visitor would wait for each other
    running = st.session_state.get(key)
    if other != section and running is not None and not running.finished.is_set():
        running.cancel()
SECTIONS[section]()
