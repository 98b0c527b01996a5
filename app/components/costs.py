"""Costs: one quiet line under the title that says what the run took, and against what."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app.services import runs
from app.services.measuring import Measuring
from app.services.runs import Kept
from app.words import plain, say
from core.bench.cost import Comparison, Cost
from core.bench.timing import Spread

PATIENCE = 0.6  # seconds to wait for a quick measurement before the page goes on without it
AGAIN = 0.7  # seconds between looks at a slow one
SAME = 0.05  # a ratio of memory closer to 1 than this is no difference


def show(kept: Kept, size: str, slot: DeltaGenerator, key: str) -> None:
    """One quiet line of what the run cost, measured beside the page if it has not been yet."""
    state, wanted = st.session_state, kept.wanted
    if state.get(f"{key}_unmeasured") == wanted:
        slot.caption(say("cost_cancelled", model=plain(wanted.model), size=size))
        return
    measuring = runs.measuring_of(wanted)
    # Run measures anew: the machine may have been busy the last time.
    anew = state.pop(f"{key}_measure", False)
    if measuring is None or measuring.stopped or anew:
        measuring = runs.measure_anew(kept, lambda what, share: None)
    state[f"{key}_measuring"] = wanted
    measuring.finished.wait(PATIENCE)
    with slot.container(gap=None):
        if not measuring.finished.is_set():
            st.fragment(_watch, run_every=AGAIN)(measuring, wanted, key)
        elif measuring.cost is None:
            st.caption(plain(measuring.error or say("cost_failed")))
        else:
            _lines(kept, measuring.cost, size)


def leave(wanted: runs.Wanted, key: str) -> None:
    """End the measurement that this page began for another input: nobody waits for it now."""
    before = st.session_state.get(f"{key}_measuring")
    if before is not None and before != wanted:
        measuring = runs.measuring_of(before)
        if measuring is not None and not measuring.finished.is_set():
            measuring.stop()
            runs.measurements().drop(before)


def _watch(measuring: Measuring, wanted: runs.Wanted, key: str) -> None:
    """How far it is, and a Cancel; the page is shown again when it is done."""
    cancelled = st.session_state.get(f"{key}_unmeasured") == wanted
    if cancelled or measuring.finished.is_set():
        st.rerun()

    def cancel() -> None:
        st.session_state[f"{key}_unmeasured"] = wanted
        measuring.stop()

    with st.container(horizontal=True, vertical_alignment="center"):
        st.caption(say("measuring_share", share=measuring.share), width="content")
        st.button(say("cancel"), key=f"{key}_cost_cancel", on_click=cancel, type="tertiary")


def _lines(kept: Kept, cost: Cost, size: str) -> None:
    st.caption(_cost_line(kept, cost, size), help=say("cost_help", passes=cost.passes))
    if cost.against_own is not None:
        st.caption(_against_line(cost.against_own), help=say("against_help"))


def _cost_line(kept: Kept, cost: Cost, size: str) -> str:
    return say(
        "cost",
        model=plain(kept.wanted.model),
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
    shown = f"{error:.0e}".replace("-", "\u2011") if error else "0"
    return say("cost_verified", error=shown)


def _three(number: float) -> str:
    """Three significant digits, or all of a larger number's whole part."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bytes(number: int | None) -> str:
    if number is None:
        return say("cost_unknown")
    return f"{number / 2**20:,.1f} MiB" if number >= 2**19 else f"{number / 2**10:,.1f} KiB"
