"""State of the sweep."""

from dataclasses import dataclass

from app.components.state import JobState, state_of
from app.services.jobs.sweep import SweepJob
from core.maps.by_mechanism import MapRow


@dataclass
class SweepState(JobState[SweepJob]):
    """What the sweep remembers beside its job."""

    row_name: tuple[str, tuple[str, ...], int] | None = None  # call, mechanisms and head
    row: MapRow | None = None


def sweep_state() -> SweepState:
    """The state of this section."""
    return state_of("lab", SweepState)
