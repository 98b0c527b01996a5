"""Sidebar: the choices that all pages share, kept when the visitor changes the page."""

import streamlit as st

from app.services.requests import RunRequest
from app.words import plain, say
from core.attention import MECHANISMS, unavailable
from core.models import devices
from core.picture.canvas.views import CanvasStyle
from core.picture.colours.palettes import PALETTES

OWN = "own"  # the model's own mechanism; None would tell Streamlit that nothing is chosen


def show(*, mechanism: bool = True, palette: bool = True) -> None:
    """Device and precision; mechanism and palette where they act. All outlive a change of page."""
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
        if mechanism:
            _mechanism_picker()
        if palette:
            st.selectbox(
                say("palette"),
                PALETTES,
                key="shared_palette",
                persist_state="session",
                help=say("palette_help"),
            )


def _from_link(why: dict[str, str]) -> None:
    """Start with the mechanism that the page's address names, if it can run here."""
    state, wanted = st.session_state, st.query_params.get("mechanism")
    if wanted is None or "shared_linked" in state:
        return
    state["shared_linked"] = True
    if wanted in MECHANISMS and wanted not in why:
        state["shared_mechanism"] = wanted
    elif wanted in MECHANISMS:
        state["shared_lost"] = wanted
    else:
        names = ", ".join(MECHANISMS)
        st.warning(say("mechanism_link", name=plain(wanted), names=plain(names)))


def _mechanism_picker() -> None:
    """The mechanisms that can run with the chosen device and precision; the others with why not."""
    state, why = st.session_state, reasons()
    if state.get("shared_mechanism") in why:
        state["shared_lost"] = state["shared_mechanism"]
        state["shared_mechanism"] = OWN
    _from_link(why)
    chosen = st.selectbox(
        say("mechanism"),
        [OWN, *(name for name in MECHANISMS if name not in why)],
        format_func=lambda name: say("mechanism_own") if name == OWN else MECHANISMS[name].title,
        key="shared_mechanism",
        persist_state="session",
        help=say("mechanism_help"),
        on_change=lambda: state.pop("shared_lost", None),
    )
    st.caption(say("mechanism_own_cost") if chosen == OWN else MECHANISMS[chosen].cost)
    lost = state.get("shared_lost")
    if lost in why:
        st.warning(say("mechanism_lost", title=MECHANISMS[lost].title))
    if why:
        with st.expander(say("mechanism_missing", count=len(why))):
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


def canvas_style(*, stale: bool = False) -> CanvasStyle:
    """How the canvases look, by the sidebar's palette; that they are stale is said once above."""
    return CanvasStyle(st.session_state["shared_palette"], stale, {"stale": ""})


def run_request(model: str, input: tuple[str, ...] | str) -> RunRequest:
    """The visitor's input, texts or the key of a picture, with the sidebar's choices."""
    state = st.session_state
    chosen = state.get("shared_mechanism", OWN)  # who came by the lab has not been asked yet
    mechanism = None if chosen == OWN else chosen
    # By the device itself: 'auto' and its choice share one model.
    device = str(devices.resolve(state["shared_device"]))
    return RunRequest(model.strip(), input, mechanism, device, state["shared_precision"])
