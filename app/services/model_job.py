"""Running: a study of a whole model, in a thread."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from app.services.background import Background, LeftError
from app.services.runs import Wanted
from app.services.turns import Turns
from core.bench.model.study import ModelStudy, study
from core.models.model import Model
from core.models.run import Prepared

ROUNDS = 11  # of each mechanism: the page draws on the same cores, and a burst must not count


@dataclass(frozen=True)
class Choice:
    """What a visitor wants to have measured."""

    wanted: Wanted
    mechanisms: tuple[str, ...]
    span: tuple[int, int] | None  # first and last layer that are chosen; None: all

    @property
    def layers(self) -> range | None:
        """The chosen layers."""
        return None if self.span is None else range(self.span[0], self.span[1] + 1)


class Running(Background):
    """A study that waits for its turn, runs, and keeps what it has."""

    cancelled = False

    def __init__(
        self,
        choice: Choice,
        model: Model,
        prepared: Prepared,
        turns: Turns,
        connected: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start."""
        super().__init__(turns, connected)
        self.choice, self.notes = choice, prepared.notes
        self.whole: ModelStudy | None = None
        self.share, self.started = 0.0, time.monotonic()
        self._model, self._prepared = model, prepared
        self.begin()

    @property
    def left(self) -> float | None:
        """Seconds that it will still take, once there is something to tell that by."""
        passed = time.monotonic() - self.started
        return passed * (1 - self.share) / self.share if self.share > 0 else None

    def cancel(self) -> None:
        """End at the next attention call; what was measured stays."""
        self.cancelled = True

    def run(self) -> None:
        """Measure, pass by pass."""
        self.started = time.monotonic()
        how = {"layers": self.choice.layers, "rounds": ROUNDS, "on_step": self._step}
        for whole in study(self._model, self._prepared, self.choice.mechanisms, **how):
            self.whole = whole

    def _step(self, share: float) -> None:
        """Told inside of the model, between two attention calls."""
        self.share = share
        if self.cancelled:
            raise LeftError
