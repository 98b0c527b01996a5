"""Job: work in a thread of its own, which ends when it is cancelled or its page is gone."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum

from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

from app.services.log import LOG
from app.services.turns import Turns
from app.words import say
from core.errors import InputError

GONE = 4.0  # seconds without a connection: a reload never comes back to the same visit
# Without a look: the visitor went to another page. Browsers let a hidden page look once a minute.
UNSEEN = 75.0
LOOK = 0.5  # seconds between checks


class Status(Enum):
    """How far a job is."""

    WAITING = "waiting"  # for its turn
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"  # told to end before it was done; it may need a moment
    FAILED = "failed"


class CancelledError(Exception):
    """Raised inside of a job that was told to end."""


class Job(ABC):
    """Work that waits for its turn, runs, and keeps what it has."""

    failure = "failed"  # the key of the sentence on what nobody foresaw

    def __init__(self, turns: Turns, connected: Callable[[], bool] | None = None) -> None:
        """Nothing runs before `start`.

        Args:
            turns: the queue in front of the machine.
            connected: tells, from any thread, whether the visitor's page is still open; without
                it the job belongs to all visitors, and nobody's leaving ends it.
        """
        self.ahead = 0
        self.share = 0.0
        self.error: str | None = None
        self.finished = threading.Event()  # its thread has ended, however that came
        self._turns, self._connected = turns, connected
        self._running = self._done = False
        self._cancel = threading.Event()
        self._seen = time.monotonic()

    @abstractmethod
    def run(self) -> None:
        """The work, when it is its turn.

        Raises:
            InputError: with one sentence for the visitor.
            CancelledError: if it was cancelled half-way.
        """

    @property
    def status(self) -> Status:
        """How far it is."""
        if self.error is not None:
            return Status.FAILED
        if self._done:
            return Status.DONE
        if self._cancel.is_set():
            return Status.CANCELLED
        return Status.RUNNING if self._running else Status.WAITING

    def start(self) -> None:
        """Begin to wait for the turn."""
        for work in (self._work, self._watch) if self._connected else (self._work,):
            threading.Thread(target=work, daemon=True, name=type(self).__name__).start()

    def cancel(self) -> None:
        """End as soon as can be; what is there stays."""
        self._cancel.set()

    def seen(self) -> None:
        """Somebody looks: go on."""
        self._seen = time.monotonic()

    def step(self, share: float) -> None:
        """Take note of the share that is done.

        Raises:
            CancelledError: if the job was told to end.
        """
        if self._cancel.is_set():
            raise CancelledError
        self.share = min(1.0, share)

    def _work(self) -> None:
        try:
            with self._turns.turn(self._on_wait):
                self.ahead, self._running = 0, True
                self.run()
            self._done = True
        except CancelledError:
            pass
        except InputError as error:
            self.error = str(error)
        except Exception:
            LOG.exception("%s failed", type(self).__name__)
            self.error = say(self.failure)
        finally:
            self.finished.set()

    def _on_wait(self, ahead: int) -> None:
        self.ahead = ahead
        if self._cancel.is_set():
            raise CancelledError

    def _watch(self) -> None:
        met = time.monotonic()
        while not self.finished.wait(LOOK):
            now = time.monotonic()
            if self._connected():
                met = now
            if now - met > GONE or now - self._seen > UNSEEN:
                self.cancel()
                return


def connection() -> Callable[[], bool]:
    """Tells whether the visit that this script runs for is still connected to its browser."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True
    visit, server = context.session_id, runtime.get_instance()
    return lambda: server.is_active_session(visit)
