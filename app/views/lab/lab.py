"""Lab page: what does each mechanism cost, and what does it do to the map?"""

from app.components import page
from app.components.pickers import chooser
from app.views.lab.model import section as model_section
from app.views.lab.model.state import model_state
from app.views.lab.sweep import section as sweep_section
from app.views.lab.sweep.state import sweep_state
from app.words import say

SECTIONS = {"call": sweep_section.show, "model": model_section.show}
STATES = {"call": sweep_state(), "model": model_state()}

page.header(say("lab_title"), "lab")
section = chooser("lab_section", tuple(SECTIONS), "lab_section", "lab_section_")
for other, state in STATES.items():  # two jobs of one visitor would wait for each other
    if other != section and state.busy:
        state.job.cancel()
SECTIONS[section]()
