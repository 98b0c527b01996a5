"""State of the whole model."""

from dataclasses import dataclass, field

from app.components.state import JobState, state_of
from app.services.jobs.model import ModelJob
from core.bench.model.layers import Layer


@dataclass
class ModelState(JobState[ModelJob]):
    """What the section remembers beside its job."""

    layers: dict[str, tuple[Layer, ...]] = field(default_factory=dict)  # of models that were run


def model_state() -> ModelState:
    """The state of this section."""
    return state_of("lab_whole", ModelState)
