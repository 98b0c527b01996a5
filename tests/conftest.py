"""Tiers of the tests, as `markers` in pyproject.toml has them, and what several tiers need."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TIERS = ("unit", "processes", "weights", "app", "browser", "slow")


def tier(item: pytest.Item) -> str:
    """The mark that a test bears itself, or that of its folder."""
    own = next((mark.name for mark in item.iter_markers() if mark.name in TIERS), None)
    if own is not None:
        return own
    folder = item.path.relative_to(HERE).parts[0]
    if folder in ("app", "browser"):
        return folder
    return "weights" if "fetched" in item.fixturenames else "unit"


# First, so that `-m` selects by the marks that are given here.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        name = tier(item)
        if item.get_closest_marker(name) is None:
            item.add_marker(name)


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """Two threads of small tensors mostly wait for one another, and longer on a busy machine."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


# Below, core is not imported on top: jaxtyping checks only what is imported later than this file.
@pytest.fixture(scope="session")
def fetched() -> Callable[..., None]:
    """Skips a test where the weights of one of the models that it names have not been fetched."""
    from core.models import SOURCES
    from core.models.files import weights

    def needed(*names: str) -> None:
        for name in names:
            if not all(weights.ready(part) for part in SOURCES.get(name, (name,))):
                pytest.skip(f"the weights of {name} are not here: make weights")

    return needed


@pytest.fixture
def sweeps_here(monkeypatch) -> None:
    """Sweeps measure in this process: the numbers are real, and torch need not load once more."""
    from core.bench import processes
    from core.bench.sweep import measuring, sweep

    monkeypatch.setattr(processes, "BLOCK", 0.0)  # one call a sample

    def measure(one: sweep.Sweep) -> Iterator[object]:
        for message in measuring.measured(one.plan, one.model_call, alone=False):
            if one.cancelled:
                return
            yield one._kept(message)

    monkeypatch.setattr(sweep.Sweep, "__iter__", measure)
