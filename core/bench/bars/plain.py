"""Plain: what the bench says of a mechanism beside torch.utils.benchmark in a plain process.

The plain process imports PyTorch and the mechanisms, and nothing of the bench.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median

import torch

from core.attention import MECHANISMS, unavailable
from core.bench.bars.report import Line
from core.bench.processes import Alone
from core.bench.sweep.plan import Plan
from core.bench.sweep.turns import prepared
from core.bench.timing import Spread

LENGTHS = (512, 1_024, 2_048, 4_096)
PROCESSES, TURNS = 3, 5  # of each side, in turn; and turns in each of ours
ALLOWED = 0.1  # share by which both may differ
HEADS, DIM = 8, 64  # as `Plan` has them
ROOT = Path(__file__).resolve().parents[3]
SCRIPT = """
import json, sys, torch
from torch.utils.benchmark import Timer
from core.attention import MECHANISMS
name, threads, heads, dim, *lengths = sys.argv[1], *map(int, sys.argv[2:])
torch.set_num_threads(threads)
attend, found = MECHANISMS[name].attend, []
with torch.inference_mode():
    for length in lengths:
        query, key, value = torch.randn(3, 1, heads, length, dim)
        names = {"attend": attend, "query": query, "key": key, "value": value}
        timer = Timer("attend(query, key, value)", globals=names, num_threads=threads)
        found.append(timer.blocked_autorange(min_run_time=0.2).median)
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Compared:
    """Seconds of one mechanism at one length, a median a process."""

    mechanism: str
    length: int
    ours: tuple[float, ...]
    plain: tuple[float, ...]

    @property
    def ratio(self) -> float:
        """The bench's median as a share of the plain one."""
        return median(self.ours) / median(self.plain)

    @property
    def held(self) -> bool:
        """Is ours within `ALLOWED` of the plain median, or of what plain processes differ by?

        Some mechanisms have two speeds: whether the C library keeps a block is chance.
        """
        ours = median(self.ours)
        return min(self.plain) * (1 - ALLOWED) <= ours <= max(self.plain) * (1 + ALLOWED)

    def line(self) -> Line:
        """As a line of the table, with the plain processes among themselves as the spread."""
        ours, plain = 1000 * median(self.ours), 1000 * median(self.plain)
        among = f"{min(self.plain) * 1000:.4g}..{max(self.plain) * 1000:.4g}"
        what = f"{self.mechanism}, N = {self.length:,}: {ours:.4g} ms, plain {plain:.4g} ({among})"
        spread = Spread(self.ratio, self.ratio, self.ratio)
        # Within what plain processes differ by, there is nothing to hold it to.
        bar = 1 + ALLOWED if self.ratio > 1 + ALLOWED and not self.held else None
        return Line(what, spread, bar)


def lines() -> Iterator[Line]:
    """Every mechanism that runs here, at every length."""
    for name in here():
        for compared in compare(name):
            yield compared.line()


def here() -> list[str]:
    """Mechanisms that run on this processor."""
    cpu = torch.device("cpu")
    return [name for name in MECHANISMS if unavailable(name, cpu, torch.float32) is None]


def compare(
    name: str, lengths: Sequence[int] = LENGTHS, processes: int = PROCESSES
) -> list[Compared]:
    """Fresh processes of both kinds in turn, each over all lengths."""
    threads = torch.get_num_threads()
    sides = [
        (ours(name, lengths, threads), plain(name, lengths, threads)) for _ in range(processes)
    ]
    return [
        Compared(
            name, length,
            ours=tuple(mine[index] for mine, _ in sides),
            plain=tuple(theirs[index] for _, theirs in sides),
        )
        for index, length in enumerate(lengths)
    ]  # fmt: skip


def ours(name: str, lengths: Sequence[int], threads: int) -> list[float]:
    """Medians of seconds, as the lab measures them, in one process."""
    plan = Plan(lengths=tuple(lengths), heads=HEADS, dim=DIM, threads=threads)
    runner = Alone(partial(prepared, plan, name, "forward"), threads)
    try:
        runner.ready()
        return [
            median([runner.turn(length, number).seconds for number in range(TURNS + 1)][1:])
            for length in lengths
        ]
    finally:
        runner.end()


def plain(name: str, lengths: Sequence[int], threads: int) -> list[float]:
    """Medians of seconds by torch.utils.benchmark, in one process."""
    numbers = [str(number) for number in (threads, HEADS, DIM, *lengths)]
    command = [sys.executable, "-c", SCRIPT, name, *numbers]
    told = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(told.stdout.splitlines()[-1])
