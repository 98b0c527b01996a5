"""Costs: one quiet line under the title that says what the run took, and against what."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from app import loaders, shared
from app.loaders import Kept
from app.words import say
from core.bench.cost import Comparison, Cost
from core.bench.timing import Spread
from core.errors import InputError

SAME = 0.05  # a ratio of memory closer to 1 than this is no difference


def show(kept: Kept, size: str, slot: DeltaGenerator, bar: DeltaGenerator, key: str) -> None:
    """One quiet line of what the run cost, measured now if it has not been yet."""
    state = st.session_state
    if state.get(f"{key}_unmeasured") == kept.wanted:
        slot.caption(say("cost_cancelled", model=shared.plain(kept.wanted.model), size=size))
        return
    # Run measures anew: the machine may have been busy the last time.
    cost = None if state.pop(f"{key}_measure", False) else kept.cost
    if cost is None:
        cost = _measured(kept, slot, bar, key)
    if cost is None:
        return
    with slot.container(gap=None):
        st.caption(_cost_line(kept, cost, size), help=say("cost_help", passes=cost.passes))
        if cost.against_own is not None:
            st.caption(_against_line(cost.against_own), help=say("against_help"))


def _measured(kept: Kept, slot: DeltaGenerator, bar: DeltaGenerator, key: str) -> Cost | None:
    """The cost, with a bar and a Cancel; None, and a sentence, where it cannot be had."""

    def cancel() -> None:
        st.session_state[f"{key}_unmeasured"] = kept.wanted

    slot.caption(say("measuring") + " …")
    try:
        with shared.progress(kept.wanted.model, bar, f"{key}_cost", cancel) as (tell, wait):
            return loaders.cost_for(kept, tell, wait)
    except InputError as error:
        slot.caption(shared.plain(error))
    except Exception:
        shared.LOG.exception("the cost of %s", kept.wanted.model)
        slot.caption(say("cost_failed"))
    return None


def _cost_line(kept: Kept, cost: Cost, size: str) -> str:
    return say(
        "cost",
        model=shared.plain(kept.wanted.model),
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
    return say("cost_verified", error=f"{error:.0e}".replace("-", "\u2011"))


def _three(number: float) -> str:
    """Three significant digits, or all of a larger number's whole part."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


def _bytes(number: int | None) -> str:
    if number is None:
        return say("cost_unknown")
    return f"{number / 2**20:,.1f} MiB" if number >= 2**19 else f"{number / 2**10:,.1f} KiB"
