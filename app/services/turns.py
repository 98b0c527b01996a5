"""Turns: one forward pass at a time, first come first served, so that visitors share the cores."""

import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LOOK_AGAIN = 0.3  # seconds between looks at the queue while waiting


class Turns:
    """A queue in front of the machine."""

    def __init__(self) -> None:
        """Nobody waits yet."""
        self._queue: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def turn(self, on_wait: Callable[[int], None]) -> Iterator[None]:
        """Wait for this caller's turn, telling it how many are before it; it may raise to leave."""
        ticket = object()
        with self._changed:
            self._queue.append(ticket)
        try:
            while ahead := self._ahead(ticket):
                on_wait(ahead)
            yield
        finally:
            with self._changed:
                self._queue.remove(ticket)
                self._changed.notify_all()

    def _ahead(self, ticket: object) -> int:
        with self._changed:
            if self._queue[0] is not ticket:
                self._changed.wait(LOOK_AGAIN)
            return self._queue.index(ticket)
