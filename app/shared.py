"""What all pages share: the sidebar's choices, the model picker, progress with Cancel, the cost."""

import logging
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import loaders
from app.loaders import Tell
from app.words import say
from core.attention import MECHANISMS, unavailable
from core.errors import InputError
from core.models import MODELS, Kind, devices
from core.picture.palettes import PALETTES
from core.picture.views import Look

LOG = logging.getLogger("headlight")
LOG.setLevel(logging.INFO)
if not LOG.handlers:  # the script runs again for every visitor, the logger is one
    LOG.addHandler(logging.StreamHandler())
PATIENCE = 0.4  # seconds before a bar appears: a flash of one tells nothing
AT_ONCE = ("loading", "compiling")  # a bar for these cannot wait
LONG = 4.0  # seconds after which a bar tells how long it will still take


def style() -> None:
    """What the theme's settings cannot say: the picture, not the margin, fills the first screen."""
    st.html(
        """<style>
        .stMainBlockContainer { padding: 4.2rem 2rem 3rem; max-width: 1500px; }
        @media (max-width: 640px) { .stMainBlockContainer { padding: 4.2rem 0.9rem 2rem; } }
        /* Our own Cancel says what is kept; Streamlit's Stop leaves half a page. */
        [data-testid="stStatusWidget"] button { display: none; }
        /* A picture twenty times as tall as wide must not push the page away. */
        [data-testid="stImage"] img { max-height: 220px; object-fit: contain; }
        .st-key-clip_strip [data-testid="stImage"] img { max-height: 88px; }
        /* What is not of the present inputs is greyed. */
        [class*="_stale"] { opacity: 0.45; }
        /* On a narrow screen the picture comes first: the form of the CLIP page folds away. */
        @media (min-width: 641px) { .st-key-clip_settings { display: none; } }
        @media (max-width: 640px) {
            .stColumn:not(:has(.st-key-clip_settings input:checked)) .st-key-clip_panel {
                display: none;
            }
        }
        </style>"""
    )


def header(heading: str) -> tuple[DeltaGenerator, DeltaGenerator]:
    """The title, and places for the cost under it and for progress beside it."""
    left, right = st.columns([3, 1], vertical_alignment="center")
    with left:
        st.title(heading)
        cost = st.empty()
    return cost, right.empty()


def sidebar() -> None:
    """Device, precision, mechanism and palette; kept when the visitor changes the page."""
    with st.sidebar:
        device = st.selectbox(
            say("device"), devices.devices(), key="shared_device", help=say("device_help")
        )
        st.selectbox(
            say("precision"),
            devices.precisions(device),
            key="shared_precision",
            help=say("precision_help"),
        )
        _mechanism_picker()
        st.selectbox(say("palette"), PALETTES, key="shared_palette", help=say("palette_help"))


def _mechanism_picker() -> None:
    """The mechanisms that can run with the chosen device and precision; the others with why not."""
    state, why = st.session_state, reasons()
    there = [name for name in MECHANISMS if name not in why]
    if state.get("shared_mechanism") in why:
        state["shared_lost"] = state["shared_mechanism"]
        state["shared_mechanism"] = None
    st.radio(
        say("mechanism"),
        [None, *there],
        format_func=lambda name: MECHANISMS[name].title if name else say("mechanism_own"),
        captions=[None, *(MECHANISMS[name].cost for name in there)],
        key="shared_mechanism",
        help=say("mechanism_help"),
        on_change=lambda: state.pop("shared_lost", None),
    )
    lost = state.get("shared_lost")
    if lost in why:
        st.warning(say("mechanism_lost", title=MECHANISMS[lost].title))
    for name, reason in why.items():
        st.caption(unavailable_line(name, reason))


def reasons() -> dict[str, str]:
    """Mechanisms that cannot run with the sidebar's device and precision, and why."""
    where = devices.resolve(st.session_state["shared_device"])
    dtype = devices.precision(st.session_state["shared_precision"], where)
    found = {name: unavailable(name, where, dtype) for name in MECHANISMS}
    return {name: reason for name, reason in found.items() if reason is not None}


def unavailable_line(name: str, reason: str) -> str:
    """A mechanism that cannot run, and why, as a caption says it."""
    return say("unavailable", title=MECHANISMS[name].title, reason=plain(reason))


def look(*, stale: bool = False) -> Look:
    """How the canvases look, by the sidebar's palette; that they are stale is said once above."""
    return Look(st.session_state["shared_palette"], stale, {"stale": ""})


def model_picker(kind: Kind, key: str, *more: Kind) -> str:
    """A listed model of a kind or several, or any name or folder that the visitor types instead."""
    names = [name for name, entry in MODELS.items() if entry.kind in (kind, *more)]
    return st.selectbox(
        say("model"),
        names,
        format_func=title,
        accept_new_options=True,
        key=f"{key}_model",
        persist_state="session",
        help=say("model_help"),
    )


def title(name: str) -> str:
    """A listed model's title, or the name that was typed."""
    if name not in MODELS:
        return name
    entry = MODELS[name]
    return entry.title if entry.where == "offline" else say("from_hub", title=entry.title)


def wanted(model: str, given: tuple[str, ...] | str) -> loaders.Wanted:
    """The visitor's input with the sidebar's choices."""
    state = st.session_state
    # By the device itself: 'auto' and its choice share one model.
    device = str(devices.resolve(state["shared_device"]))
    return loaders.Wanted(
        model.strip(), given, state["shared_mechanism"], device, state["shared_precision"]
    )


def start_again(key: str) -> None:
    """What Run means: what was cancelled is done after all, and what was measured anew."""
    for name in ("cancelled", "unmeasured", "undrawn"):
        st.session_state.pop(f"{key}_{name}", None)
    st.session_state[f"{key}_measure"] = True


@contextmanager
def guarded() -> Iterator[None]:
    """Say in a sentence what went wrong in this part of the page; the details go to the log."""
    try:
        yield
    except InputError as error:
        st.warning(plain(error))
    except Exception:
        LOG.exception("a part of the page failed")
        st.error(say("failed"))


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


def attempt(wanted: loaders.Asked, work: loaders.Work, slot: DeltaGenerator, key: str) -> Any:
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


def plain(text: object) -> str:
    """Text that Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]()#+.!|<>~:$-])", r"\\\1", str(text))


def last(work: loaders.Work, key: str) -> Any:
    """The last result of this page that worked, said to be stale."""
    last = st.session_state.get(f"{key}_last")
    kept = work.find(last) if last is not None else None
    if kept is not None:
        st.caption(say("stale"))
    return kept


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"
