"""Costs: one quiet line under the title that says what the run took, and against what."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.components.state import state_of
from app.services import loaders
from app.services.jobs.cost import CostJob, measurements
from app.services.jobs.job import Status
from app.services.requests import RunRequest
from app.services.runs import RunResult
from app.words import plain, say
from core.attention import MECHANISMS
from core.bench.cost import Comparison, Cost
from core.bench.timing import Spread

PATIENCE = 0.6  # seconds to wait for a quick measurement before the page goes on without it
AGAIN = 0.7  # seconds between looks at a slow one
UNTESTED = 1 - 1e-6  # cosine above which an approximation has changed nothing
SAME = 0.05  # a ratio of memory closer to 1 than this is no difference


def show(result: RunResult, size: str, slot: DeltaGenerator, page: str) -> None:
    """One quiet line of what the run cost, measured beside the page if it has not been yet."""
    state, request = state_of(page), result.request
    if state.measuring_cancelled == request:
        slot.caption(say("cost_cancelled", model=plain(request.model), size=size))
        return
    job = measurements().find(request)
    # Run measures anew: the machine may have been busy the last time.
    anew, state.measure_anew = state.measure_anew, False
    if job is None or job.status is Status.CANCELLED or anew:
        job = measurements().make(request, result)
    state.measured = request
    job.finished.wait(PATIENCE)
    with slot.container(gap=None):
        if not job.finished.is_set():
            st.fragment(_watch, run_every=AGAIN)(job, request, page)
        elif job.cost is None:
            st.caption(plain(job.error or say("cost_failed")))
        else:
            _lines(result, job.cost, size, page)


def leave(request: RunRequest, page: str) -> None:
    """End the measurement that this page began for another input: nobody waits for it now."""
    before = state_of(page).measured
    if before is not None and before != request:
        job = measurements().find(before)
        if job is not None and not job.finished.is_set():
            job.cancel()
            measurements().store.drop(before)


def _watch(job: CostJob, request: RunRequest, page: str) -> None:
    """How far it is, and a Cancel; the page is shown again when it is done."""
    state = state_of(page)
    if state.measuring_cancelled == request or job.finished.is_set():
        st.rerun()

    def cancel() -> None:
        state.measuring_cancelled = request
        job.cancel()

    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(say("measuring_share", share=job.share), width="content")
        st.button(say("cancel"), key=f"{page}_cost_cancel", on_click=cancel, type="tertiary")


def _lines(result: RunResult, cost: Cost, size: str, page: str) -> None:
    st.caption(_cost_line(result, cost, size), help=say("cost_help", passes=cost.passes))
    if cost.against_own is not None:
        st.caption(_against_line(cost.against_own), help=say("against_help"))
        mechanism = MECHANISMS[result.request.mechanism]
        if not mechanism.exact and cost.against_own.cosine > UNTESTED:
            st.caption(say("against_untested", name=mechanism.title))
        _layers_link(result.request.model, page)
    if loaders.memory_kept():
        st.caption(say("cost_memory_kept"))


def _layers_link(model: str, page: str) -> None:
    """From a drift to the part of the Lab that tells which layers bear it."""
    if st.button(say("against_layers"), key=f"{page}_to_lab", type="tertiary"):
        st.session_state["lab_section"], st.session_state["lab_whole_model"] = "model", model
        st.switch_page("views/lab/lab.py")


def _cost_line(result: RunResult, cost: Cost, size: str) -> str:
    return say(
        "cost",
        model=plain(result.request.model),
        size=size,
        kernel=cost.kernel,
        time=_time(cost.milliseconds, cost.passes),
        attention=_bytes(cost.attention_bytes),
        whole=_bytes(cost.pass_bytes),
        kept=_bytes(cost.kept_bytes),
        verified=_verified(cost.error),
    )


def _against_line(against: Comparison) -> str:
    return say(
        "against",
        time=_time(against.milliseconds, 2),
        speed=_speed(against.speed),
        memory=say("cost_unknown") if against.memory is None else _memory(against.memory),
        cosine=against.cosine,
    )


def _time(time: Spread, passes: int) -> str:
    """Milliseconds below ten seconds, with half the distance of the quartiles."""
    factor, unit = (1, "ms") if time.median < 10_000 else (0.001, "s")
    median, spread = _three(factor * time.median), factor * time.half_width
    if passes == 1:
        return say("cost_one_pass", time=f"{median} {unit}")
    return f"{median} ±{spread:.2g} {unit}" if spread < 100 else f"{median} ±{spread:,.0f} {unit}"


def _speed(speed: Spread) -> str:
    """The median ratio in words, and its quartiles the same way round."""
    if speed.wide:
        return say("speed_busy", low=speed.low, high=speed.high)
    if speed.low <= 1 <= speed.high:
        return say("speed_same", low=speed.low, high=speed.high)
    faster = speed.median >= 1
    ends = (speed.low, speed.high) if faster else (1 / speed.high, 1 / speed.low)
    ratio = speed.median if faster else 1 / speed.median
    return say("faster" if faster else "slower", ratio=ratio, low=ends[0], high=ends[1])


def _memory(ratio: float) -> str:
    if abs(ratio - 1) < SAME:
        return say("memory_same")
    less = ratio >= 1
    return say("less_memory" if less else "more_memory", ratio=ratio if less else 1 / ratio)


def _verified(error: float | None) -> str:
    if error is None:
        return say("cost_unverified")
    # An ordinary hyphen would let the exponent fall to the next line.
    number = f"{error:.0e}".replace("-", "\u2011") if error else "0"
    return say("cost_verified", error=number)


def _three(number: float) -> str:
    """Three significant digits, or all of a larger number's whole part."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bytes(number: int | None) -> str:
    if number is None:
        return say("cost_unknown")
    return f"{number / 2**20:,.1f} MiB" if number >= 2**19 else f"{number / 2**10:,.1f} KiB"
