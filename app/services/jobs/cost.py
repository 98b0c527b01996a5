"""Cost job: what a run costs, measured beside the page, so that no click has to wait for it."""

import streamlit as st

from app.services import loaders
from app.services.jobs.job import Job
from app.services.requests import Callbacks, RunRequest
from app.services.runs import RunResult
from app.services.service import Service
from app.services.store import Store
from app.services.turns import Turns
from core.bench.cost import Cost, measure
from core.models.model import Model
from core.models.run import Run

MEASUREMENTS = 256


class CostJob(Job):
    """One measurement; it waits for its turn as everybody does."""

    failure = "cost_failed"

    def __init__(self, model: Model, run: Run, turns: Turns) -> None:
        """Start."""
        super().__init__(turns)
        self.cost: Cost | None = None
        self._model, self._run = model, run
        self.start()

    def run(self) -> None:
        """Measure."""
        self.cost = measure(self._model, self._run, on_step=self.step)


@st.cache_resource
def measurements() -> Service[RunRequest, RunResult, CostJob]:
    """Costs of the latest runs, those included that are still being measured."""
    return Service(Store(MEASUREMENTS, lambda job: 1), make_measurement)


def make_measurement(request: RunRequest, result: RunResult, callbacks: Callbacks) -> CostJob:
    """Start to measure what a run costs.

    Raises:
        InputError: if the model cannot be had any more.
    """
    model = loaders.reader_for(request, callbacks)
    return CostJob(model, result.run, loaders.turns())
