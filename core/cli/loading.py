"""A model for a command: fetched with a bar, and run in memory that is not handed back."""

from typing import TYPE_CHECKING

from core import models
from core.capture.allocator import keep_freed_memory
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
    keep_freed_memory()
    with garbage_left():  # this imports the library that has the model
        return models.load(
            name, device=device, precision=precision, on_progress=bar(f"fetching {name}")
        )
