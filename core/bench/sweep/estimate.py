"""Estimate: how long a plan will take and how much memory, said before anything is run."""

from dataclasses import dataclass
from typing import Literal

import psutil
import torch

from core.attention import MECHANISMS
from core.bench.formulas import formula
from core.bench.formulas.sizes import EXACT, Formula, Sizes
from core.bench.rates import Rates, known_rates
from core.bench.sweep.plan import Plan, check
from core.errors import InputError
from core.models import devices

Pass = Literal["forward", "training", "checkpointed"]

DEPTH = 2  # calls one after another in a training step: with one, checkpointing could save nothing
# A call of a training step in forward calls: forward, the gradients of both products, and for
# 'checkpointed' the forward call again.
FORWARD_CALLS: dict[Pass, float] = {
    "forward": 1.0,
    "training": 3.5 * DEPTH,
    "checkpointed": 4.5 * DEPTH,
}
REACHED = 0.3  # the share of its limit that a kernel mostly reaches
CHECKED_ROWS = 64  # rows of every head that are compared with softmax in float64
STARTING = 5.0  # seconds until a child process has loaded torch
STARTING_EACH = 1.0  # seconds until another one, in which a mechanism runs alone, has
TURN = 0.05  # seconds that a turn takes at least
COMPILING = 20.0  # seconds in which a mechanism that has to be compiled is
USABLE = 0.8  # of the free memory
TRAINING_PEAK = 3.0  # a training step holds so many times what a forward call does

# One query beside all keys, whose rows are those of k here: k and v are read, scores are held.
DECODING = Formula(
    flops=lambda sizes: 4.0 * sizes.rows * sizes.dim,
    traffic=lambda sizes: 2.0 * sizes.output,
    peak=lambda sizes: 2.0 * EXACT * sizes.rows,
)


@dataclass(frozen=True)
class Estimate:
    """What a plan will cost; rough, and rather too much than too little."""

    seconds: float
    peak_bytes: float
    mechanism: str  # whose peak that is
    length: int


def passes(plan: Plan) -> tuple[Pass, ...]:
    """What is measured of every mechanism."""
    return ("forward", "training", "checkpointed") if plan.backward else ("forward",)


def sizes(plan: Plan, length: int) -> Sizes:
    """One call of a plan, for the formulas."""
    return Sizes(
        batch=plan.shapes(length)[1][0], heads=plan.heads, length=plan.shapes(length)[1][2],
        dim=plan.dim,
        number=plan.dtype.itemsize, causal=plan.causal, threads=plan.threads,
        on_cpu=devices.resolve(plan.device).type == "cpu",
    )  # fmt: skip


def estimate(plan: Plan, rates: Rates) -> Estimate:
    """Time and memory of the whole run, from formulas and the machine's rates.

    A mechanism without a formula counts as standard attention, the most that any of them takes.
    """
    peaks = {
        (mechanism, length): peak(plan, mechanism, length)
        for mechanism in plan.mechanisms
        for length in plan.points
    }
    mechanism, length = max(peaks, key=peaks.__getitem__)
    total = sum(seconds_of_length(plan, length, rates) for length in plan.points)
    total += sum(COMPILING for mechanism in plan.mechanisms if MECHANISMS[mechanism].compiles)
    alone = (len(plan.mechanisms) + 1) * len(passes(plan))
    starting = STARTING + STARTING_EACH * alone
    return Estimate(starting + total, peaks[mechanism, length], mechanism, length)


def seconds_of_length(plan: Plan, length: int, rates: Rates) -> float:
    """Time of all mechanisms at one length: a check, warm-ups, rounds, and the memory pass."""
    total = 0.0
    at = sizes(plan, length)
    for mechanism in plan.mechanisms:
        costs = _costs(plan, mechanism)
        forward = rates.limit(costs.flops(at), costs.traffic(at)) / REACHED
        rounds = plan.rounds + 2 + (plan.rounds if mechanism == plan.base else 0)
        total += forward * (FORWARD_CALLS["training"] / DEPTH)  # the check
        total += rounds * sum(max(TURN, forward * FORWARD_CALLS[kind]) for kind in passes(plan))
    return total


def peak(plan: Plan, mechanism: str, length: int) -> float:
    """Bytes held at most while one mechanism is measured at one length, its inputs included."""
    at = sizes(plan, length)
    costs = _costs(plan, mechanism)
    call = costs.peak(at) * (TRAINING_PEAK if plan.backward else 1.0)
    alone = (len(plan.mechanisms) + 1) * len(passes(plan))  # processes, with inputs of their own
    inputs = 3 * at.output * ((2 if plan.backward else 1) + alone)
    queries = 1 if plan.decode else at.length
    checked = 3 * 8 * at.rows * min(CHECKED_ROWS, queries) + 16 * at.output // at.number
    return inputs + max(call, checked + costs.peak(at))


def require_fit(plan: Plan) -> Estimate:
    """The estimate of a plan that can be measured here.

    Raises:
        InputError: if it cannot: wrong numbers, too little memory, or more than the time allowed.
    """
    check(plan)
    device = devices.resolve(plan.device)
    rates = known_rates(str(device), plan.dtype, torch.get_num_threads())
    if device.type == "cpu":
        # The rate is this process's own; the child may have another number of threads.
        rates = Rates(rates.flops * plan.threads / torch.get_num_threads(), rates.bytes)
    found = estimate(plan, rates)
    refuse(plan, found, free_bytes(device))
    return found


def refuse(plan: Plan, found: Estimate, free: float) -> None:
    """Refuse a run that would take too much.

    Raises:
        InputError: with the time or memory that is wanted, and what there is.
    """
    if found.peak_bytes > USABLE * free:
        raise InputError(
            f"{MECHANISMS[found.mechanism].title} at {found.length:,} positions would take about "
            f"{in_bytes(found.peak_bytes)} of memory; {in_bytes(free)} are free. Take shorter "
            f"lengths, or leave '{found.mechanism}' out."
        )
    if found.seconds > plan.most_seconds:
        raise InputError(
            f"This run would take about {in_time(found.seconds)}; at most "
            f"{in_time(plan.most_seconds)} are allowed. Take shorter lengths, fewer rounds or "
            "fewer mechanisms."
        )


def free_bytes(device: torch.device) -> float:
    """Memory of the device that nobody uses now."""
    if device.type == "cuda":
        return float(torch.cuda.mem_get_info(device)[0])
    return float(psutil.virtual_memory().available)


def in_bytes(number: float | int) -> str:
    """A number of bytes as people say it."""
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if number < 1000 or unit == "TB":
            break
        number /= 1000
    return f"{number:,.0f} {unit}" if number >= 10 or unit == "bytes" else f"{number:.1f} {unit}"


def in_time(seconds: float | int) -> str:
    """A time as people say it."""
    if seconds < 100:
        return f"{seconds:.0f} seconds"
    if seconds < 6_000:
        return f"{seconds / 60:.0f} minutes"
    return f"{seconds / 3600:,.0f} hours"


def _costs(plan: Plan, mechanism: str) -> Formula:
    return DECODING if plan.decode else formula(mechanism) or formula("standard")
