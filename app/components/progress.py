"""Progress: a bar with a Cancel, and one way to ask for what takes a while."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components.state import state_of
from app.services.log import LOG
from app.services.requests import Callbacks, Request
from app.services.service import ResultT, Service, SourceT
from app.words import plain, say
from core.errors import InputError

PATIENCE = 0.4  # seconds before a bar appears: a flash of one tells nothing
AT_ONCE = ("loading", "compiling")  # a bar for these cannot wait
LONG = 4.0  # seconds after which a bar tells how long it will still take


@contextmanager
def progress(
    name: str, slot: DeltaGenerator, key: str, on_cancel: Callable[[], None] | None = None
) -> Iterator[Callbacks]:
    """Callbacks that say what is being done; a bar appears only if it takes a moment.

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
        yield Callbacks(
            # These say nothing more until they are done, so they cannot wait for a second word.
            lambda what, share: show(say(what, name=plain(name)), share, what in AT_ONCE),
            lambda ahead: show(say("waiting", ahead=ahead), 0.0),
        )
    finally:
        if bars:
            slot.empty()


def attempt(
    request: Request,
    service: Service[Request, SourceT, ResultT],
    source: SourceT,
    slot: DeltaGenerator,
    page: str,
) -> ResultT | None:
    """The result, or one sentence and the last result that worked, if it is still stored."""
    state, result = state_of(page), service.find(request)
    try:
        if result is None and state.cancelled == request:
            raise InputError(say("cancelled"))
        if result is None:

            def cancel() -> None:
                state.cancelled = request

            with progress(request.model, slot, f"{page}_run", cancel) as callbacks:
                result = service.make(request, source, callbacks)
    except InputError as error:
        st.warning(plain(error))
        return last(service, page)
    except Exception:
        LOG.exception("%s failed", request.model)
        st.error(say("failed"))
        return last(service, page)
    state.last = request
    return result


def last(service: Service[Request, SourceT, ResultT], page: str) -> ResultT | None:
    """The last result of this page that worked, said to be stale."""
    request = state_of(page).last
    result = service.find(request) if request is not None else None
    if result is not None:
        st.caption(say("stale"))
    return result


def start_again(page: str) -> None:
    """What Run means: what was cancelled is done after all, and what was measured anew."""
    state = state_of(page)
    state.cancelled = state.measuring_cancelled = state.drawing_cancelled = None
    state.measure_anew = True


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
