"""Headlight's library: what every attention head of a real transformer looks at, and what it costs.

Nothing in here imports Streamlit: it serves a notebook and a shell (`python -m core`) as well.
"""

import os

# The profiler that measures memory writes a line to stderr at each start otherwise; it reads this
# once, when torch is first imported.
os.environ.setdefault("KINETO_LOG_LEVEL", "6")
