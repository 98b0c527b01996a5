"""Memory: full garbage collections between the clicks, never after each of them.

Streamlit's own, after each script, walks over all of torch's objects (0.3 s of a core):
.streamlit/config.toml turns it off. Here what was loaded is set aside, where no collection looks,
and what the visits leave behind is collected as soon as nobody clicks.
"""

import gc
import threading
import time
from functools import cache

LOOK = 0.5  # seconds between looks
QUIET = 0.1  # of a core: less than this means that nobody clicks
PATIENCE = 20.0  # seconds that clicks can put a collection off
YOUNG = (2_000, 20)  # allocations before a young collection; young ones before a middle one
NEVER = 10**6  # the oldest are collected here alone


@cache
def keep_watch() -> None:
    """Begin to collect between the clicks; the first call in a process does it."""
    gc.set_threshold(*YOUNG, NEVER)
    set_aside()
    threading.Thread(target=_watch, daemon=True, name="memory").start()


def set_aside() -> None:
    """Collect everything, and look no more at what is left: call it when a model was loaded."""
    gc.unfreeze()  # a model that made room for this one may be garbage by now
    gc.collect()
    gc.freeze()


def _watch() -> None:
    worked, collected = time.process_time(), time.monotonic()
    while True:
        time.sleep(LOOK)
        before, worked = worked, time.process_time()
        now = time.monotonic()
        quiet = worked - before < QUIET * LOOK
        # The third count tells whether anything has grown old since the last full collection.
        if gc.get_count()[2] and (quiet or now - collected > PATIENCE):
            gc.collect()
            worked, collected = time.process_time(), time.monotonic()
