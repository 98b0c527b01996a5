"""The models that need no hub: fetched, and loaded; damaged files become one sentence."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from core.models.files import weights
from core.models.files.damage import damage_explained
from core.models.registry import SOURCES

if TYPE_CHECKING:
    from core.models.clip.model import ClipModel
    from core.models.model import Model


def load(
    name: str, where: torch.device, dtype: torch.dtype, on_progress: weights.Progress | None
) -> "Model | ClipModel":
    """A model by its name in SOURCES.

    Raises:
        InputError: if its weights cannot be fetched, or are damaged.
    """
    with damage_explained(name, _delete(name)):
        return _loader(name)(where, dtype, on_progress)


def fetch(name: str, on_progress: weights.Progress | None = None) -> None:
    """Bring the files of a model by its name in SOURCES onto this machine, and unpack them.

    Raises:
        InputError: if they cannot be had.
    """
    with damage_explained(name, _delete(name)):
        if name == "smollm2":
            from core.models.text import smollm2  # only it needs transformers to be fetched

            smollm2.unpacked(on_progress)
            return
        parts = SOURCES[name]
        for index, part in enumerate(parts):
            weights.fetch(part, _part_of(on_progress, index, len(parts)))


def _loader(name: str) -> Callable[..., "Model | ClipModel"]:
    # Each brings a library that takes seconds to import: only that of the model that is wanted.
    match name:
        case "minilm":
            from core.models.text.loading import load_minilm as loader
        case "smollm2":
            from core.models.text.loading import load_smollm2 as loader
        case "focus-vit":
            from core.models.vision.model import load_focus_vit as loader
        case "clip-mini":
            from core.models.clip.loading import load_clip_mini as loader
    return loader


def _part_of(
    on_progress: weights.Progress | None, index: int, parts: int
) -> weights.Progress | None:
    """The progress of one part, as a share of all."""
    if on_progress is None:
        return None
    return lambda share: on_progress((index + share) / parts)


def _delete(name: str) -> str:
    """What to do about files of the cache that are damaged."""
    where = " and ".join(str(weights.cached(part)) for part in SOURCES[name])
    return (
        f"The weights of '{name}' were wanted whole; what lies in {where} "
        "cannot be loaded: delete that folder, and they are fetched again"
    )
