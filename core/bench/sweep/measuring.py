"""Measuring: everything a plan asks for, length by length, told as it comes.

At each length: first how right every mechanism is, then rounds A B C A B C with fresh inputs, each
mechanism in a process of its own, then memory in calls of its own. Runs in a child process,
`core.bench.sweep.child`, whose threads are set.
"""

import math
import time
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from core.attention import MECHANISMS
from core.bench.formulas import formula
from core.bench.memory import peak_bytes
from core.bench.processes import Runner
from core.bench.rates import measured_rates
from core.bench.sweep.accuracy import ALLOWED, accuracy, rows_of, softmax_rows
from core.bench.sweep.estimate import FORWARD_CALLS, Pass, passes, seconds_of_length, sizes
from core.bench.sweep.inputs import attend_like
from core.bench.sweep.machine import machine
from core.bench.sweep.messages import (  # fmt: skip
    Accuracy,
    Finished,
    Memory,
    Message,
    Progress,
    Refused,
    Timing,
)
from core.bench.sweep.plan import Plan
from core.bench.sweep.probing import probed_rows
from core.bench.sweep.turns import Samples, Turn, enter_own, fresh, runners, unsteady, work
from core.bench.timing import WIDE
from core.capture.trace import AttentionCall
from core.errors import MechanismError
from core.models import devices

ANEW = ", once more"
TRIES = 2  # sets of rounds at a length, at most
DIFFERENT = 0.1  # a peak that is further from its formula gets a warning


def measured(
    plan: Plan, model_call: AttentionCall | None = None, *, alone: bool = True
) -> Iterator[Message]:
    """All measurements of a plan, with the number of threads that torch has now.

    Args:
        plan: what is measured.
        model_call: q, k, v, mask and scale of a model; None: random ones.
        alone: time each mechanism in a process of its own, on the CPU.
    """
    enter_own(plan)
    with runners(plan, model_call, alone=alone) as takers:
        yield from _measured(plan, model_call, takers)


def _measured(
    plan: Plan, model_call: AttentionCall | None, runners: Mapping[Turn, Runner]
) -> Iterator[Message]:
    start = time.perf_counter()
    device = devices.resolve(plan.device)
    rates = measured_rates(device, plan.dtype)
    yield machine(device, rates)
    shares = {length: seconds_of_length(plan, length, rates) for length in plan.points}
    done, total = 0.0, sum(shares.values())
    for length in sorted(plan.points):
        faster = rates.or_better(measured_rates(device, plan.dtype))
        if faster != rates:
            rates = faster
            yield machine(device, rates)
        for message in _at_length(plan, length, model_call, runners):
            if isinstance(message, Progress):
                share = (done + message.share * shares[length]) / total
                message = Progress(min(share, 1.0), message.doing)
            yield message
        done += shares[length]
    yield Finished(time.perf_counter() - start)


def _at_length(
    plan: Plan, length: int, model_call: AttentionCall | None, runners: Mapping[Turn, Runner]
) -> Iterator[Message]:
    mechanisms = []
    for index, mechanism in enumerate(plan.mechanisms):
        yield Progress(0.1 * index / len(plan.mechanisms), f"checking {mechanism} at {length:,}")
        try:
            found = checked(plan, mechanism, length, model_call)
        except MechanismError as error:
            yield Refused(mechanism, length, str(error))
            continue
        yield found
        if MECHANISMS[mechanism].exact and not found.output_error <= ALLOWED[plan.dtype]:
            wrong = f"its output is off by {found.output_error:.1e} of its size"
            yield Refused(mechanism, length, f"{mechanism} is not timed: {wrong}.")
            continue
        mechanisms.append(mechanism)
    if mechanisms:
        yield from timed(plan, mechanisms, length, runners)
        for index, mechanism in enumerate(mechanisms):
            yield Progress(
                0.9 + 0.1 * index / len(mechanisms), f"memory of {mechanism} at {length:,}"
            )
            yield from (held(plan, mechanism, length, kind, model_call) for kind in passes(plan))


def checked(
    plan: Plan, mechanism: str, length: int, model_call: AttentionCall | None = None
) -> Accuracy:
    """How right a mechanism is at a length.

    Raises:
        MechanismError: if it does not take such inputs.
    """
    if plan.decode and not MECHANISMS[mechanism].exact:
        raise MechanismError(
            f"{mechanism}: a decoding step is measured of exact mechanisms only: its pattern, or "
            "its sums, would be carried from step to step, and no cache of them is kept here."
        )
    inputs = fresh(plan, length, 0, model_call)
    attend = attend_like(mechanism, model_call)
    if inputs[0].device.type in MECHANISMS[mechanism].no_gradients:
        mask = None if model_call is None else model_call.mask
        found = probed_rows(attend, *inputs, plan.causal, mask=mask)
    else:
        found = rows_of(attend, *inputs, plan.causal)
    how = {} if model_call is None else {"mask": model_call.mask, "scale": model_call.scale}
    return accuracy(mechanism, length, found, softmax_rows(*inputs, plan.causal, **how))


def timed(
    plan: Plan, mechanisms: list[str], length: int, runners: Mapping[Turn, Runner]
) -> Iterator[Message]:
    """Rounds in which every mechanism takes its turn, the base mechanism twice.

    Where they differ too much to tell anything they are taken anew, and the steadier ones count.
    """
    turns = {turn: runner for turn, runner in runners.items() if turn.mechanism in mechanisms}
    warm_ups = {turn: runner.turn(length, 0).first for turn, runner in turns.items()}
    tries: list[Samples] = []
    while not tries or (len(tries) < TRIES and unsteady(tries[-1], plan.base) > WIDE):
        samples: Samples = {turn: [] for turn in turns}
        for done in range(plan.rounds):
            share = 0.1 + 0.7 * done / plan.rounds if not tries else 0.8
            yield Progress(share, f"{length:,}: round {done + 1}{ANEW if tries else ''}")
            for turn, runner in turns.items():
                number = 1 + done + len(tries) * plan.rounds
                samples[turn].append(runner.turn(length, number).seconds)
        tries.append(samples)
    best = min(tries, key=lambda each: unsteady(each, plan.base))
    for turn in turns:
        if turn.again:
            continue
        mechanism, kind, _ = turn
        yield Timing(
            mechanism=mechanism, length=length, kind=kind, warm_up=warm_ups[turn],
            samples=tuple(best[turn]), again=tuple(best.get(turn._replace(again=True), ())),
            tries=len(tries), **needed(plan, mechanism, length, kind)._asdict(),
        )  # fmt: skip


def held(
    plan: Plan, mechanism: str, length: int, kind: Pass, model_call: AttentionCall | None = None
) -> Memory:
    """The peak of one mechanism, in a call that is not timed, beside its formula."""
    inputs, costs = (
        fresh(plan, length, 0, model_call),
        formula(mechanism) if plan.by_formula else None,
    )
    each = work(attend_like(mechanism, model_call), kind, plan.causal)
    found = peak_bytes(lambda: each(inputs), inputs[0].device)
    known = costs is not None and costs.peak is not None and kind == "forward"
    foretold = float(costs.peak(sizes(plan, length))) if known else None
    return Memory(mechanism, length, kind, found, foretold, warning(mechanism, found, foretold))


def warning(mechanism: str, found: int | None, foretold: float | None) -> str:
    """What is said where a peak and its formula differ; nothing where they agree."""
    if not found or foretold is None or abs(foretold / found - 1) <= DIFFERENT:
        return ""
    return (
        f"{mechanism}: {found:,} bytes were measured, and the formula says {foretold:,.0f}: "
        "one of the two is wrong here."
    )


def decoding(plan: Plan, length: int) -> "Needed":
    """One query beside all keys: a product with k and one with v, which are read once."""
    (batch, heads, _, dim), key = plan.shapes(length)
    number = plan.dtype.itemsize
    traffic = number * (2 * math.prod(key) + 2 * batch * heads * dim)
    return Needed(4.0 * batch * heads * key[2] * dim, float(traffic))


class Needed(NamedTuple):
    """What the formulas say that has to be done; None where there is none."""

    flops: float | None
    traffic: float | None


def needed(plan: Plan, mechanism: str, length: int, kind: Pass) -> Needed:
    """What one call, or one training step, of a mechanism has to do."""
    if plan.decode:
        return decoding(plan, length)
    masked = plan.origin is not None and plan.origin.masked
    costs = None if masked else formula(mechanism)  # shared heads leave the operations as they are
    if costs is None:
        return Needed(None, None)
    at, calls = sizes(plan, length), FORWARD_CALLS[kind]
    return Needed(costs.flops(at) * calls, costs.traffic(at) * calls)
