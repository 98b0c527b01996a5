"""Sweep job: one sweep of the lab, in a process of its own and watched by a thread."""

from collections.abc import Callable

from app.services.jobs.job import CancelledError, Job
from app.services.turns import Turns
from app.words import say
from core.bench.sweep.messages import Progress
from core.bench.sweep.model_inputs import ModelCall
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results
from core.bench.sweep.sweep import Sweep


class SweepJob(Job):
    """A sweep that waits for its turn, runs, and keeps what it has."""

    def __init__(
        self,
        plan: Plan,
        turns: Turns,
        call: ModelCall | None = None,
        connected: Callable[[], bool] = lambda: True,
    ) -> None:
        """Start.

        Args:
            plan: what is measured.
            turns: the queue in front of the machine.
            call: the q, k and v of a model that the plan is about, if it is about such.
            connected: tells, from any thread, whether the visitor's page is still open.

        Raises:
            InputError: if the plan cannot be measured here, or not within its time.
        """
        super().__init__(turns, connected)
        self.sweep = Sweep(plan, model_call=None if call is None else call.call)
        self.call = call
        self.start()

    @property
    def results(self) -> Results:
        """What has come so far."""
        return self.sweep.results

    @property
    def progress(self) -> Progress:
        """How much is done."""
        messages = [each for each in self.sweep.messages if isinstance(each, Progress)]
        return messages[-1] if messages else Progress(0.0, say("lab_starting"))

    def cancel(self) -> None:
        """End the measuring process at once; what was measured stays."""
        super().cancel()
        self.sweep.cancel()

    def run(self) -> None:
        """Measure, to the end or until it is cancelled."""
        for _ in self.sweep:
            pass
        if self.sweep.cancelled:
            raise CancelledError
