"""Costs: one quiet line under the title that says what the run took, and against what."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import loaders, shared
from app.loaders import Kept
from app.words import say
from core.bench.cost import Comparison, Cost
from core.bench.timing import Spread
from core.errors import InputError


def show(kept: Kept, size: str, slot: DeltaGenerator, bar: DeltaGenerator, key: str) -> None:
    """One quiet line of what the run cost, measured now if it has not been yet."""
    state, cost = st.session_state, kept.cost
    if cost is None and state.get(f"{key}_unmeasured") == kept.wanted:
        slot.caption(say("cost_cancelled", model=kept.wanted.model, size=size))
        return
    if cost is None:

        def cancel() -> None:
            state[f"{key}_unmeasured"] = kept.wanted

        slot.caption(say("measuring") + " …")
        try:
            with shared.progress(kept.wanted.model, bar, f"{key}_cost", cancel) as (tell, wait):
                cost = loaders.cost_for(kept, tell, wait)
        except InputError as error:
            slot.caption(shared.plain(error))
            return
    with slot.container(gap=None):
        st.caption(_cost_line(kept, cost, size), help=say("cost_help", passes=cost.passes))
        if cost.against_own is not None:
            st.caption(_against_line(cost.against_own), help=say("against_help"))


def _cost_line(kept: Kept, cost: Cost, size: str) -> str:
    time = cost.milliseconds
    passes = "cost_passes" if cost.passes > 1 else "cost_one_pass"
    return say(
        "cost",
        model=kept.wanted.model,
        size=size,
        kernel=cost.kernel,
        milliseconds=say(passes, milliseconds=_three(time.median), spread=_three(time.half_width)),
        attention=_bytes(cost.attention_bytes),
        whole=_bytes(cost.pass_bytes),
        kept=_bytes(cost.kept_bytes),
        verified=say("cost_unverified")
        if cost.error is None
        else say("cost_verified", error=cost.error),
    )


def _against_line(against: Comparison) -> str:
    memory = against.memory
    return say(
        "against",
        speed=_speed(against.speed),
        memory=say("cost_unknown")
        if memory is None
        else _more_or_less(memory, "less_memory", "more_memory"),
        cosine=against.cosine,
    )


def _more_or_less(ratio: float, more: str, less: str) -> str:
    return say(more, ratio=ratio) if ratio >= 1 else say(less, ratio=1 / ratio)


def _speed(speed: Spread) -> str:
    """The median ratio in words, and its quartiles the same way round."""
    ends = (speed.low, speed.high)
    if speed.median < 1:
        ends = (1 / speed.high, 1 / speed.low)
    words = _more_or_less(speed.median, "faster", "slower")
    return say("speed_range", words=words, low=ends[0], high=ends[1])


def _three(number: float) -> str:
    """Three significant digits, or all of a larger number's whole part."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bytes(number: int | None) -> str:
    if number is None:
        return say("cost_unknown")
    return f"{number / 2**20:,.1f} MiB" if number >= 2**19 else f"{number / 2**10:,.1f} KiB"
