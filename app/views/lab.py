"""Lab page: what does each mechanism cost, and what does it do to the map?"""

import streamlit as st

from app import lab_sweep
from app.words import say

st.title(say("lab_title"))
lab_sweep.show()
