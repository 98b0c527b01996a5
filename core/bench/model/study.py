"""Study: everything that is measured of one model on one input, as it grows."""

import platform
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import torch

from core.attention import MECHANISMS, unavailable
from core.bench.model.layers import Layer, layers_of
from core.bench.model.measuring import Cell, Measured, layer_drift, measure_model, variants_of
from core.bench.model.passes import OnStep
from core.bench.timing import ROUNDS
from core.errors import InputError
from core.models.model import Model, versions
from core.models.run import Prepared

LEAST_ROUNDS, MOST_ROUNDS = 2, 1000


@dataclass(frozen=True)
class ModelStudy:
    """What has been measured so far."""

    model: str
    positions: int  # that are not padding, all batch items together
    device: str
    precision: str
    threads: int
    mechanisms: tuple[str, ...]
    layers: tuple[Layer, ...]
    chosen: tuple[int, ...] | None  # calls of the range that was asked for; None: all only
    variants: tuple[Measured, ...] = ()
    cells: tuple[Cell, ...] = ()
    finished: bool = False
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> Measured:
        """The model's own attention."""
        return self.variants[0]

    @property
    def slow(self) -> bool:
        """Did a pass take so long that it was timed once?"""
        return bool(self.variants) and len(self.own.samples) == 1

    def variant(self, mechanism: str, layers: tuple[int, ...] | None = None) -> Measured:
        """A mechanism in all layers, or in those that were chosen."""
        return next(
            each for each in self.variants
            if (each.variant.mechanism, each.variant.layers) == (mechanism, layers)
        )  # fmt: skip


def study(
    model: Model,
    prepared: Prepared,
    mechanisms: Sequence[str],
    *,
    layers: Collection[int] | None = None,
    rounds: int = ROUNDS,
    on_step: OnStep | None = None,
) -> Iterator[ModelStudy]:
    """The costs of the whole pass, then what each layer bears, layer by layer.

    Exact mechanisms are left out of the layers: their drift in all of them is rounding already.

    Args:
        model: what is measured.
        prepared: what it reads.
        mechanisms: names in MECHANISMS that can run here.
        layers: calls, counted from 0, that each mechanism also runs in alone; None, or all of
            them, adds nothing.
        rounds: samples of each variant.
        on_step: told the share that is done after every attention call; may raise to stop.

    Raises:
        InputError: if a mechanism cannot run here, or the model's attention cannot be routed.
    """
    check(model, mechanisms, rounds)
    names = layers_of(prepared)
    chosen = None if layers is None or len(set(layers)) == len(names) else tuple(sorted(layers))
    result = ModelStudy(
        model=model.name,
        positions=sum(len(queries) for queries in prepared.groups[0].queries),
        device=model.device.type,
        precision=str(model.dtype).removeprefix("torch."),
        threads=torch.get_num_threads(),
        mechanisms=tuple(mechanisms),
        layers=names,
        chosen=chosen,
        versions={"python": platform.python_version(), **versions()},
    )
    changing = [name for name in mechanisms if not MECHANISMS[name].exact]
    first = len(variants_of(mechanisms, chosen)) * (rounds + 2)
    share = first / (first + len(names) * len(changing))
    variants = measure_model(
        model, prepared, mechanisms, layers=chosen, rounds=rounds,
        on_step=_part(on_step, 0.0, share),
    )  # fmt: skip
    result = replace(result, variants=variants)
    yield result
    for cell in layer_drift(model, prepared, changing, on_step=_part(on_step, share, 1.0)):
        result = replace(result, cells=(*result.cells, cell))
        if cell.mechanism == changing[-1]:
            yield result
    yield replace(result, finished=True)


def check(model: Model, mechanisms: Sequence[str], rounds: int = ROUNDS) -> None:
    """Refuse what cannot be measured, before anything runs.

    Raises:
        InputError: for no mechanism, an unknown one, one that cannot run here, and absurd rounds.
    """
    if not mechanisms:
        raise InputError("At least one mechanism was wanted; none came.")
    if not LEAST_ROUNDS <= rounds <= MOST_ROUNDS:
        wanted = f"{LEAST_ROUNDS} to {MOST_ROUNDS:,} rounds were wanted"
        raise InputError(f"{wanted}; {rounds:,} came.")
    for name in mechanisms:
        if name not in MECHANISMS:
            raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{name}' came.")
        reason = unavailable(name, model.device, model.dtype)
        if reason is not None:
            raise InputError(f"'{name}' cannot run here: {reason}")


def _part(on_step: OnStep | None, start: float, end: float) -> OnStep | None:
    """The progress of one part, as a share of all."""
    return None if on_step is None else lambda share: on_step(start + share * (end - start))
