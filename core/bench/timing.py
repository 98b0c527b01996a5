"""Timing: pieces of work side by side in one process, A B C A B C, after a warm-up told apart.

What is compared is the ratio inside a round: the machine's moods then hit both sides alike.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median, quantiles

import torch

ROUNDS = 5  # the least for a median with a spread
WIDE = 1.5  # quartiles of a ratio, high / low, beyond which it tells nothing


@dataclass(frozen=True)
class Spread:
    """A median, and the quartiles around it."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, samples: list[float]) -> "Spread":
        """Median and quartiles of at least one sample."""
        if len(samples) < 2:
            return cls(samples[0], samples[0], samples[0])
        low, _, high = quantiles(samples, n=4, method="inclusive")
        return cls(median(samples), low, high)

    @property
    def wide(self) -> bool:
        """Do the quartiles lie so far apart that the median tells nothing?"""
        return self.high > WIDE * self.low

    @property
    def half_width(self) -> float:
        """Half of the distance between the quartiles: the plus-minus of the median."""
        return (self.high - self.low) / 2


def seconds(work: Callable[[], object], device: torch.device | str = "cpu") -> float:
    """How long one piece of work takes; on a device that runs ahead, until it is really done."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def synchronize(device: torch.device | str) -> None:
    """Wait until the device has finished what it was given."""
    kind = torch.device(device).type
    if kind == "cuda":
        torch.cuda.synchronize(device)
    elif kind == "mps":
        torch.mps.synchronize()


def interleaved(
    works: Mapping[str, Callable[[], object]],
    *,
    rounds: int = ROUNDS,
    warm_up: bool = True,
    device: torch.device | str = "cpu",
    on_round: Callable[[float], None] | None = None,
) -> dict[str, list[float]]:
    """Seconds of each piece of work, one sample a round; the warm-up is left out."""
    if warm_up:
        for work in works.values():
            seconds(work, device)
    samples: dict[str, list[float]] = {name: [] for name in works}
    for done in range(rounds):
        for name, work in works.items():
            samples[name].append(seconds(work, device))
        if on_round is not None:
            on_round((done + 1) / rounds)
    return samples


def ratio(samples: dict[str, list[float]], name: str, base: str) -> Spread:
    """Time of one piece of work as a share of another's, round by round."""
    return Spread.of([a / b for a, b in zip(samples[name], samples[base], strict=True)])
