"""Measuring: a model's forward pass under its own attention and under every mechanism, in turn."""

import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from core.bench.cost import SLOW
from core.bench.memory import peak_bytes
from core.bench.model.drift import OutputDrift, output_drift
from core.bench.model.fit import require_fit, sizes_of
from core.bench.model.passes import OnStep, Passes, Steps
from core.bench.timing import ROUNDS, Spread, interleaved, ratio
from core.errors import MechanismError, OutOfMemoryError
from core.models.model import Model
from core.models.run import Prepared


@dataclass(frozen=True)
class Variant:
    """Which layers go through which mechanism."""

    mechanism: str | None  # None: the model's own attention
    layers: tuple[int, ...] | None = None  # calls, counted from 0; None: all

    @property
    def key(self) -> str:
        """What tells it from the other variants."""
        return f"{self.mechanism} {self.layers}"


OWN = Variant(None)


@dataclass(frozen=True)
class Measured:
    """What a forward pass costs, and how far its output moved; None where nothing was measured."""

    variant: Variant
    samples: tuple[float, ...] = ()  # seconds, one a round
    milliseconds: Spread | None = None
    ratio: Spread | None = None  # time / time of the model's own attention, round by round
    peak_bytes: int | None = None  # of the whole pass; also None where the device has no peak
    drift: OutputDrift | None = None
    refused: str | None = None  # why the mechanism cannot run in this model


@dataclass(frozen=True)
class Cell:
    """One layer by itself through one mechanism."""

    call: int
    mechanism: str
    cosine: float | None  # of the final output with the model's own; None where it was refused
    refused: str | None = None


def measure_model(
    model: Model,
    prepared: Prepared,
    mechanisms: Sequence[str],
    *,
    layers: Collection[int] | None = None,
    rounds: int = ROUNDS,
    on_step: OnStep | None = None,
) -> tuple[Measured, ...]:
    """Time, memory and drift of the whole pass: the model's own first, then each mechanism.

    Each mechanism runs in all layers and, where `layers` says some, in those only too. Passes take
    turns, A B C A B C, after a warm-up told apart. Where one takes longer than `SLOW` seconds, one
    round is all, and memory is not measured.

    Args:
        model: what is measured.
        prepared: what it reads.
        mechanisms: names in MECHANISMS.
        layers: calls, counted from 0, that are routed in a second variant of each mechanism.
        rounds: samples of each variant.
        on_step: told the share that is done after every attention call; may raise to stop.

    Raises:
        InputError: if the model's attention cannot be routed.
    """
    passes = Passes(model, prepared)
    variants = variants_of(mechanisms, layers)
    steps = Steps(len(variants) * (rounds + 2), passes.calls, on_step)
    warm, seconds = _warm_up(passes, variants, steps)
    works = {
        variant.key: partial(_work, passes, variant, steps)
        for variant, found in warm.items()
        if isinstance(found, OutputDrift)
    }
    steps.passes = steps.done + len(works) * (rounds + 1)
    turns = {"warm_up": False, "device": model.device}
    samples = interleaved(works, rounds=1, **turns)
    peaks: dict[str, int | None] = {}
    # One long sample may be a hiccup of the machine; a slow pass was slow when it warmed up too.
    if any(min(seconds[key], *times) > SLOW for key, times in samples.items()):
        steps.end()
    else:
        more = interleaved(works, rounds=rounds - 1, **turns)
        samples = {key: samples[key] + more[key] for key in works}
        peaks = {key: peak_bytes(work, model.device) for key, work in works.items()}
    return tuple(
        Measured(variant, refused=warm[variant])
        if variant.key not in works
        else Measured(
            variant=variant,
            samples=tuple(samples[variant.key]),
            milliseconds=Spread.of([1000 * sample for sample in samples[variant.key]]),
            ratio=ratio(samples, variant.key, OWN.key),
            peak_bytes=peaks.get(variant.key),
            drift=warm[variant],
        )
        for variant in variants
    )


def layer_drift(
    model: Model,
    prepared: Prepared,
    mechanisms: Sequence[str],
    *,
    on_step: OnStep | None = None,
) -> Iterator[Cell]:
    """What each layer by itself does to the output through each mechanism, one pass a cell.

    Layer by layer, in the order in which they run.

    Raises:
        InputError: if the model's attention cannot be routed.
    """
    passes = Passes(model, prepared)
    steps = Steps(1 + passes.calls * len(mechanisms), passes.calls, on_step)
    own = passes.own(steps.tell)
    steps.finish()
    sizes = sizes_of(model, prepared)
    for call in range(passes.calls):
        for mechanism in mechanisms:
            try:
                require_fit(sizes, mechanism, model.device)
                output = passes.forward(mechanism, {call}, steps.tell)
                cell = Cell(call, mechanism, output_drift(prepared, output, own).cosine)
            except (MechanismError, OutOfMemoryError) as error:
                cell = Cell(call, mechanism, None, str(error))
            steps.finish()
            yield cell


def variants_of(mechanisms: Sequence[str], layers: Collection[int] | None) -> tuple[Variant, ...]:
    """The model's own attention, and each mechanism in all layers and in those that were chosen."""
    chosen = [None] if layers is None else [None, tuple(sorted(layers))]
    return (OWN, *(Variant(name, calls) for name in mechanisms for calls in chosen))


def _warm_up(
    passes: Passes, variants: Sequence[Variant], steps: Steps
) -> tuple[dict[Variant, OutputDrift | str], dict[str, float]]:
    """What the first pass of each variant moves, or why there is none, and its seconds by key.

    The model's own comes first.
    """
    start = time.perf_counter()
    own = passes.own(steps.tell)
    seconds = {OWN.key: time.perf_counter() - start}
    steps.finish()
    sizes = sizes_of(passes.model, passes.prepared)
    found: dict[Variant, OutputDrift | str] = {OWN: output_drift(passes.prepared, own, own)}
    for variant in variants:
        if variant == OWN:
            continue
        try:
            require_fit(sizes, variant.mechanism, passes.model.device)
            start = time.perf_counter()
            output = passes.forward(variant.mechanism, variant.layers, steps.tell)
            seconds[variant.key] = time.perf_counter() - start
            found[variant] = output_drift(passes.prepared, output, own)
        except (MechanismError, OutOfMemoryError) as error:
            found[variant] = str(error)
        steps.finish()
    return found, seconds


def _work(passes: Passes, variant: Variant, steps: Steps) -> None:
    passes.forward(variant.mechanism, variant.layers, steps.tell)
    steps.finish()
