"""Background: work in a thread of its own, which ends when it is cancelled or its page is gone."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

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


class LeftError(Exception):
    """Nobody waits for this work any more."""


class Background(ABC):
    """Work that waits for its turn, runs, and keeps what it has."""

    def __init__(self, turns: Turns, connected: Callable[[], bool] = lambda: True) -> None:
        """Nothing runs before `begin`.

        Args:
            turns: the queue in front of the machine.
            connected: tells, from any thread, whether the visitor's page is still open.
        """
        self.ahead = 0
        self.error: str | None = None
        self.finished = threading.Event()
        self.looked = self.met = time.monotonic()
        self._turns, self._connected = turns, connected

    @abstractmethod
    def run(self) -> None:
        """The work, when it is its turn.

        Raises:
            InputError: with one sentence for the visitor.
            LeftError: if it was cancelled half-way.
        """

    @property
    @abstractmethod
    def cancelled(self) -> bool:
        """Was it told to end?"""

    @abstractmethod
    def cancel(self) -> None:
        """End as soon as can be; what is there stays."""

    def begin(self) -> None:
        """Start to wait for the turn."""
        for work in (self._work, self._watch):
            threading.Thread(target=work, daemon=True, name="background").start()

    def look(self) -> None:
        """Somebody looks: go on."""
        self.looked = time.monotonic()

    def _work(self) -> None:
        try:
            with self._turns.turn(self._wait):
                self.ahead = 0
                self.run()
        except LeftError:
            pass
        except InputError as error:
            self.error = str(error)
        except Exception:
            LOG.exception("work in the background")
            self.error = say("failed")
        finally:
            self.finished.set()

    def _wait(self, ahead: int) -> None:
        self.ahead = ahead
        if self.cancelled:
            raise LeftError

    def _watch(self) -> None:
        while not self.finished.wait(LOOK):
            now = time.monotonic()
            if self._connected():
                self.met = now
            if now - self.met > GONE or now - self.looked > UNSEEN:
                self.cancel()
                return


def connection() -> Callable[[], bool]:
    """Tells whether the visit that this script runs for is still connected to its browser."""
    context = get_script_run_ctx()
    if context is None or not runtime.exists():
        return lambda: True
    visit, server = context.session_id, runtime.get_instance()
    return lambda: server.is_active_session(visit)
