"""What the lab is asked: mechanisms, sizes and inputs, and what that will cost."""

import os
from typing import NamedTuple

import streamlit as st
import torch

from app.components import sidebar
from app.components.pickers import chooser
from app.views.lab.sweep import inputs
from app.words import plain, say
from core.attention import MECHANISMS
from core.bench.shapes import SHAPES
from core.bench.sweep.estimate import Estimate, in_bytes, in_time, require_fit
from core.bench.sweep.model_inputs import ModelCall
from core.bench.sweep.plan import Plan, lengths_of
from core.errors import InputError
from core.models import devices

FIRST = ("standard", "flash", "linear", "favor")
SHORTEST = 128
LONGEST = (512, 1024, 2048, 4096, 8192, 16384)

PHASES = ("prefill", "decode")


class SweepRequest(NamedTuple):
    """A plan, and the call of a model that it is about, if it is about one."""

    plan: Plan
    call: ModelCall | None


def form() -> SweepRequest | None:
    """The choices; None, and one sentence, where there is nothing to measure on."""
    state = st.session_state
    there = [name for name in MECHANISMS if name not in sidebar.reasons()]
    mechanisms = st.pills(
        say("lab_arms"), there, default=[name for name in FIRST if name in there],
        selection_mode="multi", wrap=True, format_func=lambda name: MECHANISMS[name].title,
        key="lab_arms", persist_state="session", help=say("lab_arms_help"),
    )  # fmt: skip
    left, right = st.columns(2)
    with left:
        source = inputs.source()
    own = source != "random"
    call = inputs.layer_call(source) if own else None
    lengths = () if own else _lengths(right)
    sizes = _sizes(own)
    batches = () if own else _batches()
    if lengths is None or batches is None or (own and call is None):
        return None
    if batches:
        lengths, sizes["batches"] = (max(lengths),), batches
    plan = Plan(
        mechanisms=tuple(mechanisms), lengths=lengths, precision=state["shared_precision"],
        device=str(devices.resolve(state["shared_device"])), **sizes,
    )  # fmt: skip
    return SweepRequest(plan if call is None else call.plan(plan), call)


def estimate(plan: Plan) -> Estimate | None:
    """What a plan will cost, said before anything runs; one sentence where it would not fit."""
    try:
        found = require_fit(plan)
    except InputError as error:
        st.warning(plain(error))
        return None
    st.caption(say("lab_estimate", time=in_time(found.seconds), memory=in_bytes(found.peak_bytes)))
    return found


def preset() -> None:
    """Sizes of a model that people know, put into the fields below."""
    chosen = st.selectbox(
        say("lab_preset"), [None, *SHAPES], key="lab_preset", persist_state="session",
        format_func=lambda name: SHAPES[name].title if name else say("lab_preset_own"),
        help=say("lab_preset_help"), on_change=fill,
    )  # fmt: skip
    if chosen is not None:
        shape = SHAPES[chosen]
        about = {"title": shape.title, "length": shape.length, "source": shape.source}
        st.caption(say("lab_preset_source", **about))


def fill() -> None:
    """Take the sizes over; what is changed afterwards is the visitor's own."""
    shape = SHAPES.get(st.session_state["lab_preset"])
    if shape is None:
        return
    shared = shape.kv_heads if shape.kv_heads != shape.heads else 0
    for name, value in (
        ("heads", shape.heads), ("kv_heads", shared), ("dim", shape.dim), ("causal", shape.causal),
    ):  # fmt: skip
        st.session_state[f"lab_{name}"] = value


def _lengths(place: st.delta_generator.DeltaGenerator) -> tuple[int, ...] | None:
    """The lengths of the slider, or those that were typed instead; None if nobody can read them."""
    longest = place.select_slider(
        say("lab_longest"), LONGEST, 1024, format_func=lambda length: f"{length:,}",
        key="lab_longest", persist_state="session", help=say("lab_longest_help"),
    )  # fmt: skip
    typed = st.session_state.get("lab_lengths") or ""
    if not typed.strip():
        return tuple(SHORTEST << step for step in range(8) if SHORTEST << step <= longest)
    try:
        return lengths_of(typed)
    except InputError as error:
        place.warning(plain(error))  # elsewhere it would close the box that is typed into
        return None


def _batches() -> tuple[int, ...] | None:
    """Batches that were typed, none, or None if nobody can read them."""
    typed = st.session_state.get("lab_batches") or ""
    try:
        return lengths_of(typed) if typed.strip() else ()
    except InputError as error:
        st.warning(plain(error))
        return None


def _sizes(own: bool) -> dict[str, int | bool | float]:
    """The fields of the plan that seldom change; those of a model's own call are not asked."""
    keep = {"persist_state": "session"}
    numbers = {"heads": 8, "kv_heads": 0, "dim": 64, "batch": 1, "seed": 0} if not own else {}
    numbers |= {"rounds": 7, "threads": torch.get_num_threads(), "most_seconds": 600}
    helps = {"rounds", "threads", "most_seconds", "kv_heads"}
    found: dict[str, int | bool | float] = {}
    with st.expander(say("lab_sizes")):
        if not own:
            preset()
            st.text_input(
                say("lab_lengths"), key="lab_lengths", help=say("lab_lengths_help"),
                placeholder="512, 1000, 3000", **keep,
            )  # fmt: skip
            st.text_input(
                say("lab_batches"), key="lab_batches", help=say("lab_batches_help"),
                placeholder="1, 2, 4, 8", **keep,
            )  # fmt: skip
        columns = st.columns(4)
        for place, (name, usual) in enumerate(numbers.items()):
            found[name] = columns[place % 4].number_input(
                say(f"lab_{name}"), value=usual, step=1, key=f"lab_{name}",
                help=say(f"lab_{name}_help", cores=os.cpu_count()) if name in helps else None,
                **keep,
            )  # fmt: skip
        if not own:
            found["kv_heads"] = found["kv_heads"] or None
            found["decode"] = chooser("lab_phase", PHASES, "lab_phase", "lab_phase_") == "decode"
            causal = st.toggle(
                say("lab_causal"), key="lab_causal", disabled=found["decode"], **keep
            )
            found["causal"] = causal and not found["decode"]
        found["keep_memory"] = st.toggle(
            say("lab_keep_memory"), key="lab_keep_memory", help=say("lab_keep_memory_help"), **keep
        )
        found["backward"] = st.toggle(
            say("lab_backward"), key="lab_backward", help=say("lab_backward_help"), **keep
        )
        st.caption(say("lab_precision"))
    return found | {"most_seconds": float(found["most_seconds"])}
