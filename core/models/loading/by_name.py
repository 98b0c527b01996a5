"""Any model by its name or folder: which library has it, and that library's loader.

Each library takes seconds to import, so it is imported only where a name needs it.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from core.errors import InputError
from core.models import devices
from core.models.files import weights
from core.models.files.damage import damage_explained
from core.models.files.hub import CLIP_CONFIG, check_not_file, folder_of
from core.models.loading import offline
from core.models.registry import MODELS, OFFLINE, Kind

if TYPE_CHECKING:
    from core.models.clip.model import ClipModel
    from core.models.model import Model


def load(
    name: str, device: str, precision: str, on_progress: weights.Progress | None
) -> "Model | ClipModel":
    """What `core.models.load` gives.

    Raises:
        InputError: as it says there.
    """
    if not name:
        raise InputError("The name of a model or a folder was wanted; nothing came.")
    where = devices.resolve(device)
    dtype = devices.precision(precision, where)
    if name in OFFLINE:
        return offline.load(name, where, dtype, on_progress)
    folder = folder_of(name)
    sentence = f"A model was wanted; the files of '{name}' are damaged or of another kind"
    with damage_explained(name, sentence):
        kind = _kind_of_name(name) if folder is None else _kind_of_folder(folder)
        try:
            return _loader(kind)(name, where, dtype)
        except InputError as error:
            if folder is None and kind == "text" and (close := _near(name)):
                raise InputError(f"{error} Did you mean {' or '.join(close)}?") from error
            raise


def _kind_of_folder(folder: Path) -> Kind:
    if (folder / CLIP_CONFIG).is_file():
        return "clip"
    config = folder / "config.json"
    of_timm = config.is_file() and '"architecture"' in config.read_text(errors="replace")
    return "vision" if of_timm else "text"


def _kind_of_name(name: str) -> Kind:
    """The kind of a name on the list; of another, that of the library that knows it.

    Raises:
        InputError: if it is the name of a file.
    """
    if name in MODELS:
        return MODELS[name].kind
    from core.models.clip.names import is_clip

    if is_clip(name):
        return "clip"
    check_not_file(name)
    from core.models.vision.timm_weights import is_timm

    return "vision" if is_timm(name) else "text"


def _loader(kind: Kind) -> Callable[..., "Model | ClipModel"]:
    match kind:
        case "clip":
            from core.models.clip.loading import load_clip as loader
        case "vision":
            from core.models.vision.model import load_timm as loader
        case "text":
            from core.models.text.loading import load_transformers as loader
    return loader


def _near(name: str) -> list[str]:
    """Names that may have been meant; none for one that is on the list itself."""
    if name in MODELS:
        return []
    from core.models.clip.names import known, near

    return near(name, [*MODELS, *known()])
