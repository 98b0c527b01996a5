"""Processes: work that is compared takes turns, each piece in a process of its own.

A C library learns from what a process frees: after one piece of work has freed a large block, the
next gets such a block without the page faults that it would pay alone. Side by side in one process
the cheap then look cheaper than a user finds them. Source: mallopt(3), M_MMAP_THRESHOLD, on how
the threshold moves by itself. Whether a block of some MB is kept between calls differs from process
to process all the same, as the system lays the heap out by chance.
"""

import multiprocessing
import os
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from typing import NamedTuple

import torch

from core.bench.timing import synchronize
from core.capture.allocator import keep_freed_memory

BLOCK = 0.04  # seconds of calls in a row that make a sample, as one call of microseconds is noise
MOST_CALLS = 1_000

Prepare = Callable[..., Callable[[], object]]  # from what a turn is about to the call that is timed


class Sample(NamedTuple):
    """One turn."""

    seconds: float  # of a call, the mean of a block of them
    first: float  # of the call before, which may have to wake threads; the same where that is long


class Runner(ABC):
    """Whatever takes turns."""

    @abstractmethod
    def turn(self, *about: object) -> Sample:
        """Prepare the work for this turn, and time it."""

    def ready(self) -> None:  # noqa: B027 nothing to wait for in this process
        """Wait until it can begin; once, before the first turn."""

    def end(self) -> None:  # noqa: B027 nothing is held
        """Leave nothing behind."""


class Here(Runner):
    """Turns in this process: of devices, whose memory is PyTorch's own, and of tests."""

    def __init__(self, make: Callable[[], Prepare], device: torch.device | str = "cpu") -> None:
        """`make` gives the function that prepares each turn."""
        self._prepare, self._device = make(), device

    def turn(self, *about: object) -> Sample:
        """Prepare the work for this turn, and time it."""
        return sample(self._prepare(*about), self._device)


class Alone(Runner):
    """Turns in a process that does nothing else, as a script of a user's would."""

    def __init__(
        self, make: Callable[[], Prepare], threads: int, *, keep_memory: bool = False
    ) -> None:
        """Start it.

        Args:
            make: gives the function that prepares each turn; both are called over there.
            threads: of torch.
            keep_memory: keep freed memory, which is another measurement than PyTorch's default.
        """
        # Not forked: processes that share a heap's layout would all be lucky, or all unlucky.
        context = multiprocessing.get_context("spawn")
        self._connection, there = context.Pipe()
        arguments = (there, make, threads, keep_memory)
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        self._process.start()
        there.close()

    def ready(self) -> None:
        """Wait until it can begin; once, before the first turn.

        Raises:
            Exception: what the making raised.
            EOFError: if the process has died.
        """
        self._answer()

    def turn(self, *about: object) -> Sample:
        """Prepare the work for this turn over there, and time it.

        Raises:
            Exception: what the work raised.
            EOFError: if the process has died.
        """
        self._connection.send(about)
        return self._answer()

    def _answer(self) -> Sample | None:
        answer = self._connection.recv()
        if isinstance(answer, Exception):
            raise answer
        return answer

    def end(self) -> None:
        """End the process, and wait until it has gone."""
        self._connection.close()
        self._process.kill()
        self._process.join()


def sample(work: Callable[[], object], device: torch.device | str = "cpu") -> Sample:
    """Time some work: once where that is long enough, else many calls in a row after a first."""
    first = _block(work, 1, device)
    if first >= BLOCK:
        return Sample(_block(work, 1, device) if first < 5 * BLOCK else first, first)
    return Sample(_block(work, min(int(BLOCK / first) + 1, MOST_CALLS), device), first)


def _block(work: Callable[[], object], calls: int, device: torch.device | str) -> float:
    synchronize(device)
    start = time.perf_counter()
    for _ in range(calls):
        work()
    synchronize(device)
    return (time.perf_counter() - start) / calls


def _serve(connection: Connection, make: Callable[[], Prepare], threads: int, keep: bool) -> None:
    """What runs in the process: turns, until the other end is closed."""
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no message
    torch.set_num_threads(threads)
    if keep:
        keep_freed_memory()
    answer: Sample | Exception | None = None  # ready
    try:
        prepare = make()
    except Exception as error:
        answer = error
    while True:
        connection.send(answer)
        try:
            about = connection.recv()
        except EOFError:
            return
        try:
            answer = sample(prepare(*about))
        except Exception as error:
            answer = error


def _leave_with_parent() -> None:
    """End at once when the process that asks has gone, however it went."""
    wait([multiprocessing.parent_process().sentinel])
    os._exit(1)
