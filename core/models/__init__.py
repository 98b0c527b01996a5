"""Models by name: the ones that need no hub, a few good ones of the hub, and any other.

load("minilm").run("The cat sat on the mat.").trace

The list of models is light. torch and the model libraries, which take seconds to import, come with
the first model that is loaded: so the imports inside these functions.
"""

from typing import TYPE_CHECKING, Literal

from core.errors import InputError
from core.models.files import weights
from core.models.registry import MODELS, OFFLINE, READS, SOURCES, Entry, Kind

if TYPE_CHECKING:
    from core.models.clip.model import ClipModel
    from core.models.model import Model

__all__ = [
    "MODELS",
    "OFFLINE",
    "SOURCES",
    "Entry",
    "Kind",
    "fetch",
    "load",
    "ready",
    "require_kind",
    "tower_for",
]


def load(
    name: str,
    *,
    device: str = "auto",
    precision: str = "float32",
    on_progress: weights.Progress | None = None,
) -> "Model | ClipModel":
    """A model by its name in MODELS, its usual name in its library, or a local folder.

    Args:
        name: 'minilm', 'bert-base-uncased', 'vit_base_patch16_224', 'ViT-B-32/openai',
            'path/to/folder', ...
        device: 'auto' or a device of this machine.
        precision: one of `devices.precisions(device)`.
        on_progress: told the share of the weights that is fetched, 0 to 1; an InputError that it
            raises stops the loading.

    Raises:
        InputError: if the name, the folder, the device or the precision does not exist, or the
            weights cannot be had.
    """
    from core.models.loading import by_name

    return by_name.load(name.strip(), device, precision, on_progress)


def fetch(name: str, on_progress: weights.Progress | None = None) -> None:
    """Bring the files of a model that needs no hub onto this machine, and unpack them.

    Raises:
        InputError: if they cannot be had.
    """
    from core.models.loading import offline

    if name in OFFLINE:
        offline.fetch(name, on_progress)


def ready(name: str) -> bool:
    """Are the files of a model that needs no hub on this machine already?"""
    return all(weights.ready(part) for part in SOURCES[name])


def require_kind(model: "Model | ClipModel", kind: Kind) -> None:
    """Return if a model reads texts, pictures, or pictures with texts, as it is wanted to.

    Raises:
        InputError: if it reads something else.
    """
    if model.kind != kind:
        raise InputError(
            f"A model that reads {READS[kind]} was wanted; "
            f"'{model.name}' reads {READS[model.kind]}."
        )


def tower_for(model: "Model | ClipModel", kind: Literal["text", "vision"]) -> "Model":
    """The model itself, or the tower of a CLIP that reads what is wanted.

    Raises:
        InputError: if it does not read that.
    """
    if model.kind == "clip":
        return model.image if kind == "vision" else model.text
    require_kind(model, kind)
    return model
