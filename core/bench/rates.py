"""Rates: how fast this machine multiplies matrices and copies memory, the limit of any kernel."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch

from core.bench.timing import seconds

TRIES = 3  # the best one counts: a limit is what the machine can do, not what it mostly does
SIDES = {"cpu": 1024}  # of the square matrices; others multiply faster, so they get larger ones
COPIED = {"cpu": 64 * 2**20}  # bytes, more than caches hold
LARGE_SIDE, LARGE_COPY = 4096, 512 * 2**20


@dataclass(frozen=True)
class Rates:
    """What a machine can do in a second."""

    flops: float  # multiplications and additions of a matrix product
    bytes: float  # read and written, by a copy

    def limit(self, flops: float, traffic: float) -> float:
        """Seconds below which no kernel can do so much: the slower of computing and moving."""
        return max(flops / self.flops, traffic / self.bytes)

    def or_better(self, other: "Rates") -> "Rates":
        """The faster of both: a limit is what the machine can do when it is left alone."""
        return Rates(max(self.flops, other.flops), max(self.bytes, other.bytes))


def measured_rates(device: torch.device | str, dtype: torch.dtype) -> Rates:
    """Both rates, with as many threads as this process uses; a fraction of a second."""
    kind = torch.device(device).type
    side = SIDES.get(kind, LARGE_SIDE)
    one, other = torch.ones(2, side, side, device=device, dtype=dtype)
    source = torch.ones(COPIED.get(kind, LARGE_COPY), dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    return Rates(
        flops=2 * side**3 / _best(lambda: one @ other, device),
        bytes=2 * len(source) / _best(lambda: target.copy_(source), device),
    )


@lru_cache(maxsize=16)
def known_rates(device: str, dtype: torch.dtype, threads: int) -> Rates:
    """The same, measured once in this process: an estimate follows every choice of a visitor.

    `threads` only tells what was measured with another number of them apart.
    """
    return measured_rates(device, dtype)


def _best(work: Callable[[], object], device: torch.device | str) -> float:
    work()  # memory is touched for the first time
    return min(seconds(work, device) for _ in range(TRIES))
