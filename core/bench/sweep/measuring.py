"""Measuring: everything a plan asks for, length by length, told as it comes.

At each length: first how right every mechanism is, then rounds A B C A B C with fresh inputs, then
memory in calls of its own. Runs in a child process, `core.bench.sweep.child`, whose threads are
set.
"""

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from core.attention import MECHANISMS
from core.attention.common.mechanism import Attend
from core.bench.formulas import formula
from core.bench.memory import peak_bytes
from core.bench.sweep.accuracy import ALLOWED, accuracy, rows_of, softmax_rows
from core.bench.sweep.estimate import DEPTH, FORWARD_CALLS, Pass, passes, seconds_of_length, sizes
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
from core.bench.sweep.rates import measured_rates
from core.bench.timing import interleaved, seconds
from core.capture.trace import AttentionCall
from core.errors import MechanismError
from core.models import devices

AGAIN = " again"  # marks the base mechanism's second turn in a round
DIFFERENT = 0.1  # a peak that is further from its formula gets a warning

Inputs = tuple[Tensor, Tensor, Tensor]
Work = Callable[[Inputs], object]


def measured(plan: Plan, model_call: AttentionCall | None = None) -> Iterator[Message]:
    """All measurements of a plan, with the number of threads that torch has now.

    With a call of a model, on its q, k, v, mask and scale; else on random ones.
    """
    start = time.perf_counter()
    device = devices.resolve(plan.device)
    rates = measured_rates(device, plan.dtype)
    yield machine(device, rates)
    shares = {length: seconds_of_length(plan, length, rates) for length in plan.lengths}
    done, total = 0.0, sum(shares.values())
    for length in sorted(plan.lengths):
        faster = rates.or_better(measured_rates(device, plan.dtype))
        if faster != rates:
            rates = faster
            yield machine(device, rates)
        for message in _at_length(plan, length, model_call):
            if isinstance(message, Progress):
                share = (done + message.share * shares[length]) / total
                message = Progress(min(share, 1.0), message.doing)
            yield message
        done += shares[length]
    yield Finished(time.perf_counter() - start)


def _at_length(plan: Plan, length: int, model_call: AttentionCall | None) -> Iterator[Message]:
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
        yield from timed(plan, mechanisms, length, model_call)
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
    plan: Plan, mechanisms: list[str], length: int, model_call: AttentionCall | None = None
) -> Iterator[Message]:
    """Rounds in which every mechanism takes its turn, the base mechanism twice."""
    device = devices.resolve(plan.device)
    works: dict[tuple[str, Pass], Work] = {
        (mechanism, kind): work(attend_like(mechanism, model_call), kind, plan.causal)
        for mechanism in mechanisms
        for kind in passes(plan)
    }
    turns: dict[str, Work] = {_turn(*key): each for key, each in works.items()}
    for kind in passes(plan):
        if plan.base in mechanisms:
            turns[_turn(plan.base, kind) + AGAIN] = works[plan.base, kind]
    inputs = fresh(plan, length, 0, model_call)
    warm_ups = {name: seconds(partial(each, inputs), device) for name, each in turns.items()}
    samples: dict[str, list[float]] = {name: [] for name in turns}
    for done in range(plan.rounds):
        yield Progress(0.1 + 0.8 * done / plan.rounds, f"{length:,}: round {done + 1}")
        inputs = fresh(plan, length, done + 1, model_call)
        bound = {name: partial(each, inputs) for name, each in turns.items()}
        once = interleaved(bound, rounds=1, warm_up=False, device=device)
        for name, times in once.items():
            samples[name] += times
    for mechanism, kind in works:
        name = _turn(mechanism, kind)
        yield Timing(
            mechanism=mechanism, length=length, kind=kind, warm_up=warm_ups[name],
            samples=tuple(samples[name]), again=tuple(samples.get(name + AGAIN, ())),
            **needed(plan, mechanism, length, kind)._asdict(),
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


class Needed(NamedTuple):
    """What the formulas say that has to be done; None where there is none."""

    flops: float | None
    traffic: float | None


def needed(plan: Plan, mechanism: str, length: int, kind: Pass) -> Needed:
    """What one call, or one training step, of a mechanism has to do."""
    costs = formula(mechanism) if plan.by_formula else None
    if costs is None:
        return Needed(None, None)
    at, calls = sizes(plan, length), FORWARD_CALLS[kind]
    return Needed(costs.flops(at) * calls, costs.traffic(at) * calls)


def fresh(plan: Plan, length: int, number: int, model_call: AttentionCall | None = None) -> Inputs:
    """q, k and v that no call has seen: those of a call in new memory, or random ones.

    The same seed, length and number give the same random ones.
    """
    if model_call is not None:
        return tuple(
            tensor.clone() for tensor in (model_call.query, model_call.key, model_call.value)
        )
    shape = (3, plan.batch, plan.heads, length, plan.dim)
    generator = torch.Generator().manual_seed((plan.seed * 1_000_003 + length) * 1_009 + number)
    drawn = torch.randn(shape, generator=generator).to(plan.device, plan.dtype)
    return tuple(drawn)


def work(attend: Attend, kind: Pass, is_causal: bool) -> Work:
    """A forward call; or a training step of some calls, each looking with what the last one gave.

    A checkpointed call keeps its inputs only, and is computed again on the way back.
    """
    call = partial(attend, is_causal=is_causal)

    def forward(inputs: Inputs) -> Tensor:
        with torch.inference_mode():
            return call(*inputs)

    def step(inputs: Inputs) -> tuple[Tensor, ...]:
        query, key, value = (tensor.detach().requires_grad_() for tensor in inputs)
        looking = query
        for _ in range(DEPTH):
            if kind == "checkpointed":
                looking = checkpoint(call, looking, key, value, use_reentrant=False)
            else:
                looking = call(looking, key, value)
        return torch.autograd.grad(looking.sum(), (query, key, value))

    return forward if kind == "forward" else step


def _turn(mechanism: str, kind: Pass) -> str:
    return f"{mechanism} {kind}"
