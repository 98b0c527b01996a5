"""Plan: what a sweep measures, and the refusal of what no machine or no kernel could measure."""

import os
import re
from dataclasses import dataclass, field
from typing import Literal

import torch

from core.attention import MECHANISMS, unavailable
from core.bench.timing import ROUNDS
from core.errors import InputError, MechanismError
from core.models import devices

MOST = {
    "batch": 1_024,
    "heads": 1_024,
    "dim": 1_024,
    "rounds": 1_000,
    "length": 2**20,
}
PROBED_POSITIONS = 64  # as many are tried before a run; a square, for windows of pictures


@dataclass(frozen=True)
class Origin:
    """Where q, k and v come from that a model made: enough to make them again."""

    model: str
    layer: int
    kind: Literal["sentence", "picture"]
    label: str  # the beginning of the text, or the picture's name
    digest: str  # SHA-256 of the text in UTF-8, or of the pixels
    kv_heads: int
    value_dim: int
    masked: bool


@dataclass(frozen=True)
class Plan:
    """Which mechanisms are measured, on which sizes, and how often."""

    mechanisms: tuple[str, ...] = ("standard", "flash", "linear", "favor")  # names in MECHANISMS
    lengths: tuple[int, ...] = (512, 1024, 2048, 4096)  # positions, as many queries as keys
    batch: int = 1
    heads: int = 8
    dim: int = 64
    precision: str = "float32"
    causal: bool = False
    backward: bool = False  # training steps too, with and without checkpointing
    rounds: int = 7
    threads: int = field(default_factory=torch.get_num_threads)
    seed: int = 0
    device: str = "cpu"
    most_seconds: float = 600.0  # a run that would take longer is refused
    kv_heads: int | None = None  # that the heads share; None: each has its own
    decode: bool = False  # one query against `length` keys, a decoding step; else as many queries
    batches: tuple[int, ...] = ()  # swept at the one length, in place of lengths
    own: tuple[
        str, ...
    ] = ()  # 'file.py:NAME' of mechanisms that are not ours, also in `mechanisms`
    keep_memory: bool = False  # freed memory stays; PyTorch's default gives it back to the system
    origin: Origin | None = None  # None: random q, k and v; else sizes and numbers are a model's

    @property
    def points(self) -> tuple[int, ...]:
        """What is swept: lengths, or batches. Messages call either a length."""
        return self.batches or self.lengths

    def shapes(self, point: int) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
        """Shapes of q, and of k and v: batch, heads, positions, dim."""
        batch, length = (point, self.lengths[0]) if self.batches else (self.batch, point)
        keys = (batch, self.kv_heads or self.heads, length, self.dim)
        return (batch, self.heads, 1 if self.decode else length, self.dim), keys

    @property
    def shared_heads(self) -> int:
        """Heads of k and v, those of a model's call included."""
        return self.origin.kv_heads if self.origin else self.kv_heads or self.heads

    @property
    def by_formula(self) -> bool:
        """Do the formulas hold? They know no mask, and as many k and v as q, of one width."""
        own = self.origin
        same = self.shared_heads == self.heads and (own is None or own.value_dim == self.dim)
        return same and not self.decode and not (own is not None and own.masked)

    @property
    def base(self) -> str:
        """The mechanism that the others are compared with."""
        exact = [mechanism for mechanism in self.mechanisms if MECHANISMS[mechanism].exact]
        return "flash" if "flash" in self.mechanisms else (exact or list(self.mechanisms))[0]

    @property
    def dtype(self) -> torch.dtype:
        """The numbers of the inputs.

        Raises:
            InputError: if the device cannot compute in this precision.
        """
        return devices.precision(self.precision, devices.resolve(self.device))


def check(plan: Plan) -> None:
    """Refuse what cannot be measured at all; time and memory are `core.bench.sweep.estimate`'s.

    Raises:
        InputError: with what was wanted and what came.
    """
    _check_arms(plan.mechanisms)
    _check_lengths(plan.lengths, "length")
    if plan.batches:
        _check_lengths(plan.batches, "batch")
        if len(plan.lengths) > 1:
            raise InputError(
                f"One length was wanted where batches are swept; {len(plan.lengths)} came."
            )
    if plan.kv_heads is not None:
        _check_number("kv_heads", plan.kv_heads, 1, plan.heads)
        if plan.heads % plan.kv_heads:
            raise InputError(
                f"kv_heads that divide the {plan.heads} heads were wanted; {plan.kv_heads} came."
            )
    if plan.decode and (plan.backward or plan.causal):
        what = "backward" if plan.backward else "causal"
        raise InputError(
            f"A decoding step has one query, which sees all keys: without '{what}' was wanted."
        )
    for name in ("batch", "heads", "dim"):
        _check_number(name, getattr(plan, name), 1, MOST[name])
    _check_number("rounds", plan.rounds, ROUNDS, MOST["rounds"])
    _check_number("threads", plan.threads, 1, os.cpu_count() or 1)
    _check_number("seed", plan.seed, 0, 2**63 - 1)
    if not plan.most_seconds > 0:
        raise InputError(f"A time limit above 0 seconds was wanted; {plan.most_seconds} came.")
    if plan.backward and plan.origin is not None and plan.origin.value_dim != plan.dim:
        raise InputError(
            f"Values as wide as the queries ({plan.dim}) were wanted for a training step; those of "
            f"'{plan.origin.model}' are {plan.origin.value_dim} wide."
        )
    device, dtype = devices.resolve(plan.device), plan.dtype
    for mechanism in plan.mechanisms:
        reason = unavailable(mechanism, device, dtype)
        if reason is not None:
            raise InputError(f"'{mechanism}' cannot run here: {reason}.")
        if plan.backward and device.type in MECHANISMS[mechanism].no_gradients:
            raise InputError(
                f"'{mechanism}' cannot run a training step: "
                f"on {device.type} it has no backward pass."
            )
        # The call of a model has its own scale, mask and picture; a compiler would take seconds.
        if plan.origin is None and not MECHANISMS[mechanism].compiles:
            _check_dim(plan, mechanism, device, dtype)


def lengths_of(text: str) -> tuple[int, ...]:
    """Lengths as somebody types them, such as '512, 1000, 3000'.

    Raises:
        InputError: if there are other words or signs than whole numbers.
    """
    words = re.split(r"[\s,;]+", text.strip(" \t\n,;"))
    if not all(re.fullmatch(r"[+-]?[0-9]{1,18}", word) for word in words):
        raise InputError(f"Lengths such as '512, 1000, 3000' were wanted; '{text.strip()}' came.")
    return tuple(int(word) for word in words)


def _check_arms(mechanisms: tuple[str, ...]) -> None:
    wanted = ", ".join(MECHANISMS)
    if not mechanisms:
        raise InputError(f"At least one mechanism was wanted ({wanted}); none came.")
    for place, mechanism in enumerate(mechanisms):
        if mechanism not in MECHANISMS:
            raise InputError(f"One of {wanted} was wanted; '{mechanism}' came.")
        if mechanism in mechanisms[:place]:
            raise InputError(f"Every mechanism once was wanted; '{mechanism}' came twice.")


def _check_lengths(numbers: tuple[int, ...], name: str) -> None:
    if not numbers:
        raise InputError(f"At least one {name} was wanted; none came.")
    for place, number in enumerate(numbers):
        _check_number(name, number, 1, MOST[name])
        if number in numbers[:place]:
            raise InputError(f"Every {name} once was wanted; {number:,} came twice.")


def _check_number(name: str, value: int, least: int, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        came = f"{value:,}" if isinstance(value, int) else repr(value)
        raise InputError(
            f"{name}: a whole number from {least:,} to {most:,} was wanted; {came} came."
        )


def _check_dim(plan: Plan, mechanism: str, device: torch.device, dtype: torch.dtype) -> None:
    """A few positions tell whether the mechanism takes heads of this width."""
    positions = min(*plan.lengths, PROBED_POSITIONS)
    tiny = torch.zeros(1, 1, positions, plan.dim, device=device, dtype=dtype)
    try:
        MECHANISMS[mechanism].attend(tiny, tiny, tiny, is_causal=plan.causal)
    except MechanismError as error:
        raise InputError(f"'{mechanism}' does not take these sizes: {error}") from error
