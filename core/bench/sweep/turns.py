"""Turns: who takes them, and what a mechanism does in its own, on q, k and v not seen before."""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from core.attention.common.mechanism import Attend
from core.attention.own import enter, load
from core.bench.processes import Alone, Here, Prepare, Runner
from core.bench.sweep.estimate import DEPTH, Pass, passes
from core.bench.sweep.inputs import attend_like, read, write
from core.bench.sweep.plan import Plan
from core.bench.timing import ratio
from core.capture.trace import AttentionCall
from core.models import devices

Inputs = tuple[Tensor, Tensor, Tensor]
Work = Callable[[Inputs], object]


class Turn(NamedTuple):
    """Who is timed."""

    mechanism: str
    kind: Pass
    again: bool = False  # the base mechanism once more: what differs from itself is noise


Samples = dict[Turn, list[float]]  # seconds, one a round


@contextmanager
def runners(
    plan: Plan, model_call: AttentionCall | None, *, alone: bool
) -> Iterator[dict[Turn, Runner]]:
    """Who takes turns in a round, in order; processes end with the context."""
    device = devices.resolve(plan.device)
    turns = [Turn(mechanism, kind) for mechanism in plan.mechanisms for kind in passes(plan)]
    turns += [Turn(plan.base, kind, again=True) for kind in passes(plan)]
    found: dict[Turn, Runner] = {}
    with ExitStack() as ends:
        with TemporaryDirectory() as folder:
            file = None if model_call is None else Path(folder, "model_call.safetensors")
            if file is not None:
                write(model_call, file)
            for turn in turns:
                make = partial(prepared, plan, turn.mechanism, turn.kind, file)
                if alone and device.type == "cpu":
                    found[turn] = Alone(make, plan.threads, keep_memory=plan.keep_memory)
                else:
                    found[turn] = Here(make, device)
                ends.callback(found[turn].end)
            for runner in found.values():
                runner.ready()
        yield found


def unsteady(samples: Samples, base: str) -> float:
    """How far the quartiles lie apart, high / low, of the ratio to the base that is worst."""
    named = {str(turn): times for turn, times in samples.items()}
    worst = 1.0
    for turn in samples:
        against = Turn(base, turn.kind)
        if turn != against and against in samples:
            spread = ratio(named, str(turn), str(against))
            worst = max(worst, spread.high / spread.low)
    return worst


class Refilled:
    """q, k and v in memory that is filled anew for every turn and never given back.

    Inputs that were freed between turns would teach the allocator what the work alone does not.
    """

    def __init__(self, plan: Plan, call: AttentionCall | None = None) -> None:
        """Room for the longest inputs of a plan, or for those of a call."""
        self._plan, self._given = plan, None
        if call is not None:
            self._given = (call.query, call.key, call.value)
            self._inputs = tuple(torch.empty_like(each) for each in self._given)
            return
        numbers = max(sum(_numbers(plan, point)) for point in plan.points)
        self._memory = torch.empty(numbers, device=plan.device, dtype=plan.dtype)

    def at(self, length: int, number: int) -> Inputs:
        """Random ones, the same for the same seed, length and number; or those of the call."""
        if self._given is not None:
            for place, given in zip(self._inputs, self._given, strict=True):
                place.copy_(given)
            return self._inputs
        drawn = self._memory[: sum(_numbers(self._plan, length))]
        generator = torch.Generator(drawn.device).manual_seed(_seed(self._plan, length, number))
        return _cut(self._plan, length, drawn.normal_(generator=generator))


def enter_own(plan: Plan) -> None:
    """Make the mechanisms known that are not ours.

    Raises:
        InputError: if one of them cannot be loaded.
    """
    for where in plan.own:
        enter(load(where))


def prepared(plan: Plan, mechanism: str, kind: Pass, call: Path | None = None) -> Prepare:
    """The function that makes a turn's work of a length and the number of a round.

    Args:
        plan: on which sizes.
        mechanism: a name in MECHANISMS.
        kind: of pass.
        call: a file with the q, k and v of a model.
    """
    enter_own(plan)  # a process of its own knows ours only
    given = None if call is None else read(call, devices.resolve(plan.device))
    refilled = Refilled(plan, given)
    one = work(attend_like(mechanism, given), kind, plan.causal)
    return lambda length, number: partial(one, refilled.at(length, number))


def prepared_call(plan: Plan, call: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Prepare:
    """The same of any other call on random q, k and v."""
    refilled, one = Refilled(plan), work(call, "forward")
    return lambda length, number: partial(one, refilled.at(length, number))


def fresh(plan: Plan, length: int, number: int, model_call: AttentionCall | None = None) -> Inputs:
    """q, k and v in new memory: those of a call, or random ones.

    The same seed, length and number give the same random ones.
    """
    if model_call is not None:
        return tuple(
            tensor.clone() for tensor in (model_call.query, model_call.key, model_call.value)
        )
    generator = torch.Generator().manual_seed(_seed(plan, length, number))
    drawn = torch.randn(sum(_numbers(plan, length)), generator=generator)
    return _cut(plan, length, drawn.to(plan.device, plan.dtype))


def work(attend: Attend, kind: Pass, is_causal: bool = False) -> Work:
    """A forward call; or a training step of some calls, each looking with what the last one gave.

    A checkpointed call keeps its inputs only, and is computed again on the way back.
    """
    call = partial(attend, is_causal=True) if is_causal else attend

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


def _numbers(plan: Plan, length: int) -> list[int]:
    """How many numbers q, k and v are."""
    query, key = plan.shapes(length)
    return [math.prod(shape) for shape in (query, key, key)]


def _cut(plan: Plan, length: int, drawn: Tensor) -> Inputs:
    """q, k and v as views of numbers in a row."""
    query, key = plan.shapes(length)
    parts = drawn.split(_numbers(plan, length))
    return tuple(part.view(shape) for part, shape in zip(parts, (query, key, key), strict=True))


def _seed(plan: Plan, length: int, number: int) -> int:
    return (plan.seed * 1_000_003 + length) * 1_009 + number
