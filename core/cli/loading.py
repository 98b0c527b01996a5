"""A model for a command: fetched with a bar."""

from typing import TYPE_CHECKING

from core import models
from core.capture.allocator import keep_freed_memory
from core.cli.garbage import garbage_left
from core.cli.progress import bar

if TYPE_CHECKING:
    from core.models.clip.model import ClipModel
    from core.models.model import Model


def load(
    name: str, device: str, precision: str, *, keep_memory: bool = False
) -> "Model | ClipModel":
    """What `core.models.load` gives.

    With `keep_memory` freed memory stays with the process: faster, and no measure of a plain one.

    Raises:
        InputError: as it says there.
    """
    if keep_memory:
        keep_freed_memory()
    with garbage_left():  # this imports the library that has the model
        return models.load(
            name, device=device, precision=precision, on_progress=bar(f"fetching {name}")
        )
