"""Tiers of the tests, as `markers` in pyproject.toml describes them, and the weights some need."""

from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
TIERS = ("unit", "weights", "app", "browser", "slow")


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


@pytest.fixture(scope="session")
def fetched() -> Callable[..., None]:
    """Skips a test where the weights of one of the models that it names have not been fetched."""
    # Not on top: jaxtyping checks only what is imported after this file has been read.
    from core.models import SOURCES
    from core.models.files import weights

    def needed(*names: str) -> None:
        for name in names:
            if not all(weights.ready(part) for part in SOURCES.get(name, (name,))):
                pytest.skip(f"the weights of {name} are not here: make weights")

    return needed
