"""Model job: a study of a whole model under several mechanisms."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.services.jobs.job import Job
from app.services.requests import RunRequest
from app.services.turns import Turns
from core.bench.model.study import ModelStudy, study
from core.models.model import Model
from core.models.run import Prepared

ROUNDS = 11  # of each mechanism: the page draws on the same cores, and a burst must not count


@dataclass(frozen=True)
class StudyRequest:
    """Which model is measured on which input, by which mechanisms in which layers."""

    run: RunRequest
    mechanisms: tuple[str, ...]
    span: tuple[int, int] | None  # first and last layer that are chosen; None: all

    @property
    def layers(self) -> range | None:
        """The chosen layers."""
        return None if self.span is None else range(self.span[0], self.span[1] + 1)


class ModelJob(Job):
    """A study that waits for its turn, runs, and keeps what it has."""

    def __init__(
        self,
        request: StudyRequest,
        model: Model,
        prepared: Prepared,
        turns: Turns,
        connected: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start."""
        super().__init__(turns, connected)
        self.request, self.notes = request, prepared.notes
        self.study: ModelStudy | None = None
        self._started = time.monotonic()
        self._model, self._prepared = model, prepared
        self.start()

    @property
    def left(self) -> float | None:
        """Seconds that it will still take, once there is something to tell that by."""
        passed = time.monotonic() - self._started
        return passed * (1 - self.share) / self.share if self.share > 0 else None

    def run(self) -> None:
        """Measure, pass by pass; it ends between two attention calls, and what it has stays."""
        self._started = time.monotonic()
        how = {"layers": self.request.layers, "rounds": ROUNDS, "on_step": self.step}
        for so_far in study(self._model, self._prepared, self.request.mechanisms, **how):
            self.study = so_far
