"""A model for a command, with a bar while its weights are fetched."""

from typing import TYPE_CHECKING

from core import models
from core.cli.garbage import garbage_left
from core.cli.progress import bar

if TYPE_CHECKING:
    from core.models.clip.model import ClipModel
    from core.models.model import Model


def load(name: str, device: str, precision: str) -> "Model | ClipModel":
    """What `core.models.load` gives.

    Raises:
        InputError: as it says there.
    """
    with garbage_left():  # this imports the library that has the model
        return models.load(
            name, device=device, precision=precision, on_progress=bar(f"fetching {name}")
        )
