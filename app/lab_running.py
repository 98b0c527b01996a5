"""Running: one sweep of the lab in a thread; it ends when it is cancelled or nobody looks."""

import logging
import threading
import time

from app.turns import Turns
from app.words import say
from core.bench.attention.messages import Progress
from core.bench.attention.plan import Plan
from core.bench.attention.saved import Results
from core.bench.attention.sweep import Sweep
from core.errors import InputError

LOG = logging.getLogger("headlight")
UNSEEN = 15.0  # seconds without a look after which a run ends: its page was closed or reloaded
LOOK = 1.0  # seconds between checks


class LeftError(Exception):
    """Nobody waits for this run any more."""


class Running:
    """A sweep that waits for its turn, runs, and keeps what it has."""

    def __init__(self, plan: Plan, turns: Turns) -> None:
        """Start.

        Raises:
            InputError: if the plan cannot be measured here, or not within its time.
        """
        self.sweep = Sweep(plan)
        self.ahead = 0
        self.error: str | None = None
        self.finished = threading.Event()
        self.looked = time.monotonic()
        for work in (lambda: self._work(turns), self._watch):
            threading.Thread(target=work, daemon=True, name="lab").start()

    @property
    def results(self) -> Results:
        """What has come so far."""
        return self.sweep.results

    @property
    def progress(self) -> Progress:
        """How much is done."""
        told = [each for each in self.sweep.messages if isinstance(each, Progress)]
        return told[-1] if told else Progress(0.0, say("lab_starting"))

    def look(self) -> None:
        """Somebody looks: go on."""
        self.looked = time.monotonic()

    def cancel(self) -> None:
        """End the measuring process at once; what was measured stays."""
        self.sweep.cancel()

    def _work(self, turns: Turns) -> None:
        try:
            with turns.turn(self._wait):
                self.ahead = 0
                for _ in self.sweep:
                    pass
        except LeftError:
            pass
        except InputError as error:
            self.error = str(error)
        except Exception:
            LOG.exception("a sweep of the lab")
            self.error = say("failed")
        finally:
            self.finished.set()

    def _wait(self, ahead: int) -> None:
        self.ahead = ahead
        if self.sweep.cancelled:
            raise LeftError

    def _watch(self) -> None:
        while not self.finished.wait(LOOK):
            if time.monotonic() - self.looked > UNSEEN:
                self.cancel()
                return
