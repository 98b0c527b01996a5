"""Progress: a bar with a Cancel, and one way to ask for what takes a while."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.services import runs
from app.services.log import LOG
from app.services.runs import Tell
from app.words import plain, say
from core.errors import InputError

PATIENCE = 0.4  # seconds before a bar appears: a flash of one tells nothing
AT_ONCE = ("loading", "compiling")  # a bar for these cannot wait
LONG = 4.0  # seconds after which a bar tells how long it will still take


@contextmanager
def progress(
    name: str, slot: DeltaGenerator, key: str, on_cancel: Callable[[], None] | None = None
) -> Iterator[tuple[Tell, Callable[[int], None]]]:
    """Two functions that say what is being done; a bar appears only if it takes a moment.

    With `on_cancel` there is a Cancel beside it. It starts the page again, and the next step of
    the bar then ends the work where it stands.
    """
    start = time.monotonic()
    bars: list[DeltaGenerator] = []

    def show(text: str, share: float, at_once: bool = False) -> None:
        if not bars and not at_once and time.monotonic() - start < PATIENCE:
            return
        if not bars:
            with slot.container():
                bars.append(st.progress(0.0))
                if on_cancel is not None:
                    st.button(say("cancel"), key=f"{key}_cancel", on_click=on_cancel)
        passed = time.monotonic() - start
        if share > 0 and passed > LONG:  # long enough to tell how long it will still take
            text = say("time_left", text=text, left=_duration(passed * (1 - share) / share))
        bars[0].progress(min(1.0, share), text=text)

    try:
        yield (
            # These say nothing more until they are done, so they cannot wait for a second word.
            lambda what, share: show(say(what, name=plain(name)), share, what in AT_ONCE),
            lambda ahead: show(say("waiting", ahead=ahead), 0.0),
        )
    finally:
        if bars:
            slot.empty()


def attempt(wanted: runs.Asked, work: runs.Work, slot: DeltaGenerator, key: str) -> Any:
    """What was asked for, or one sentence and the last result that worked, if it is kept."""
    state = st.session_state
    result = work.find(wanted)
    try:
        if result is None and state.get(f"{key}_cancelled") == wanted:
            raise InputError(say("cancelled"))
        if result is None:

            def cancel() -> None:
                state[f"{key}_cancelled"] = wanted

            with progress(wanted.model, slot, f"{key}_run", cancel) as (tell, wait):
                result = work.make(wanted, tell, wait)
    except InputError as error:
        st.warning(plain(error))
        return last(work, key)
    except Exception:
        LOG.exception("%s failed", wanted.model)
        st.error(say("failed"))
        return last(work, key)
    state[f"{key}_last"] = wanted
    return result


def last(work: runs.Work, key: str) -> Any:
    """The last result of this page that worked, said to be stale."""
    last = st.session_state.get(f"{key}_last")
    kept = work.find(last) if last is not None else None
    if kept is not None:
        st.caption(say("stale"))
    return kept


def start_again(key: str) -> None:
    """What Run means: what was cancelled is done after all, and what was measured anew."""
    for name in ("cancelled", "unmeasured", "undrawn"):
        st.session_state.pop(f"{key}_{name}", None)
    st.session_state[f"{key}_measure"] = True


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
