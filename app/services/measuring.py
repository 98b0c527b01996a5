"""Measuring: what a run costs, measured beside the page, so that no click has to wait for it."""

import threading

from app.services.log import LOG
from app.services.turns import Turns
from app.words import say
from core.bench.cost import Cost, measure
from core.errors import InputError
from core.models.model import Model
from core.models.run import Run


class StoppedError(Exception):
    """Nobody wants this measurement any more."""


class Measuring:
    """One measurement in a thread of its own; it waits for its turn as everybody does."""

    def __init__(self, model: Model, run: Run, turns: Turns) -> None:
        """Start."""
        self.cost: Cost | None = None
        self.error: str | None = None
        self.share = 0.0
        self.finished = threading.Event()
        self._stop = threading.Event()
        work = (model, run, turns)
        threading.Thread(target=self._work, args=work, daemon=True, name="measuring").start()

    @property
    def stopped(self) -> bool:
        """Was it told to end before it was done?"""
        return self._stop.is_set() and self.cost is None

    def stop(self) -> None:
        """End at the next step."""
        self._stop.set()

    def _work(self, model: Model, run: Run, turns: Turns) -> None:
        try:
            with turns.turn(self._step):
                self.cost = measure(model, run, on_step=self._step)
        except StoppedError:
            pass
        except InputError as error:
            self.error = str(error)
        except Exception:
            LOG.exception("the cost of %s", run.model)
            self.error = say("cost_failed")
        finally:
            self.finished.set()

    def _step(self, share: float) -> None:
        """Told the share that is done, or how many are before us while we wait."""
        if self._stop.is_set():
            raise StoppedError
        self.share = min(1.0, share)
