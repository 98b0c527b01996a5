"""CLIP models by name: open_clip's own, a repository of the hub, a local folder, or clip-mini.

Source: open_clip's factory,
https://github.com/mlfoundations/open_clip/blob/main/src/open_clip/factory.py. Files are fetched
here, not by open_clip, so that only safetensors are read and nobody waits long.
"""

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import open_clip
import timm
import torch
from open_clip.transform import PreprocessCfg, merge_preprocess_dict
from torch import nn
from transformers import AutoConfig

from core.errors import InputError
from core.models.clip.model import ClipModel
from core.models.clip.names import HUB, WEIGHTS, Named, named, pretrained
from core.models.clip.tokenizer import tokenizer
from core.models.files import weights
from core.models.files.hub import CLIP_CONFIG, check_folder, hub_file, pickle_refused
from core.models.files.quiet import quiet

# What torch says of a state dict that does not fit, and how we say it.
MISFITS = {
    r'Missing key\(s\) in state_dict: "([^"]+)"': "{} is missing",
    r'Unexpected key\(s\) in state_dict: "([^"]+)"': "there is no place for {}",
    r"size mismatch for (\S+): .*?Size\(\[(.*?)\]\).*?Size\(\[(.*?)\]\)": (
        "{} has the shape ({}), and ({}) was wanted"
    ),
}


class Plan(NamedTuple):
    """What a model is built from."""

    config: dict[str, Any]  # open_clip's 'model_cfg'
    preprocess: Mapping[str, Any]  # what differs from open_clip's defaults
    weights: Path
    folder: Path | None  # a local folder, which then holds the tokenizer too


def load_clip(
    name: str,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> ClipModel:
    """A CLIP model with its weights.

    Args:
        name: 'ViT-B-32/laion2b_s34b_b79k', 'ViT-B-32:openai', 'hf-hub:owner/name', or
            a folder with open_clip_config.json and open_clip_model.safetensors.
        device: where it shall run.
        dtype: what it shall compute in.

    Raises:
        InputError: if it is unknown (near names are suggested), has no safetensors, or cannot be
            had.
    """
    plan = _plan(name)
    with quiet():
        module = _module(plan, name)
        own = tokenizer(plan.config["text_cfg"], plan.folder, name)
    size = {"size": module.visual.image_size}
    preprocess = PreprocessCfg(**merge_preprocess_dict(plan.preprocess, size))
    return ClipModel(module, own, name, preprocess=preprocess, device=device, dtype=dtype)


def load_clip_mini(
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    on_progress: weights.Progress | None = None,
) -> ClipModel:
    """clip-mini, the small CLIP that needs no hub.

    Raises:
        InputError: if its weights cannot be fetched, or are damaged.
    """
    from core.models import clip_mini  # its parts are only needed for it

    parts = clip_mini.build(on_progress)
    return ClipModel(
        parts.module,
        parts.tokenizer,
        "clip-mini",
        preprocess=parts.preprocess,
        title="clip-mini, a small offline CLIP",
        device=device,
        dtype=dtype,
    )


def _plan(name: str) -> Plan:
    folder, repository = Path(name).expanduser(), name.removeprefix(HUB)
    if folder.is_dir():
        check_folder(folder, CLIP_CONFIG, WEIGHTS)
        if not (folder / WEIGHTS).is_file():
            raise InputError(f"'{folder.name}' was wanted with a file {WEIGHTS}; it has none.")
        return Plan(*_described(folder / CLIP_CONFIG), folder / WEIGHTS, folder)
    if repository != name:
        described = _described(hub_file(repository, CLIP_CONFIG))
        return Plan(*described, hub_file(repository, WEIGHTS), None)
    wanted = named(name) or Named(name, "")
    tag = pretrained(wanted)
    config = open_clip.get_model_config(wanted.architecture)
    config["quick_gelu"] = bool(tag.get("quick_gelu"))
    return Plan(config, merge_preprocess_dict({}, tag), _tagged_weights(tag, name), None)


def _described(path: Path) -> tuple[dict[str, Any], Mapping[str, Any]]:
    """The model and its preprocessing, out of an open_clip_config.json.

    Raises:
        InputError: if it is another file.
    """
    try:
        described = json.loads(path.read_text(encoding="utf-8"))
        config, preprocess = described["model_cfg"], described.get("preprocess_cfg", {})
        dict(config["vision_cfg"], **config["text_cfg"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f'A {CLIP_CONFIG} with a "model_cfg" of vision_cfg and text_cfg was wanted; that of '
            f"'{path.parent.name}' has none."
        ) from error
    return config, preprocess


def _tagged_weights(tag: Mapping[str, Any], name: str) -> Path:
    """The safetensors of a tag of open_clip's table, which names a repository and maybe a file."""
    repository, _, filename = tag["hf_hub"].rpartition("/")
    if not repository:
        said = f"'{name}' was wanted with weights in safetensors; open_clip has it only as a pickle"
        raise pickle_refused(said, CLIP_CONFIG, WEIGHTS)
    return hub_file(
        repository, str(Path(filename).with_suffix(".safetensors")) if filename else WEIGHTS
    )


def _module(plan: Plan, name: str) -> nn.Module:
    """The module with its weights; every one of them must fit."""
    config = deepcopy(plan.config)
    vision, text = config["vision_cfg"], config["text_cfg"]
    trunk = vision.get("timm_model_name")
    if trunk and not timm.is_model(trunk):
        raise InputError(f"'{name}' was wanted with an image tower of timm; it knows no '{trunk}'.")
    vision["timm_model_pretrained"] = text["hf_model_pretrained"] = False
    custom = bool(config.pop("custom_text", False) or text.get("hf_model_name"))
    if text.get("hf_model_name"):
        text["hf_model_name"] = _text_config(text["hf_model_name"], plan.folder)
    kind = open_clip.CLIP
    if custom:
        kind = open_clip.CoCa if "multimodal_cfg" in config else open_clip.CustomTextCLIP
    module = kind(**config)
    try:
        open_clip.load_checkpoint(module, str(plan.weights), strict=True)
    except RuntimeError as error:
        if not (first := _misfit(str(error))):
            raise
        raise InputError(
            f"Weights that fit the model of '{name}' were wanted; these do not: {first}."
        ) from error
    return module


def _misfit(error: str) -> str:
    """The first weight that does not fit, as a part of a sentence; '' for another error."""
    for line in error.splitlines():
        for pattern, said in MISFITS.items():
            if match := re.search(pattern, line):
                return said.format(*match.groups())
    return ""


def _text_config(wanted: str, folder: Path | None) -> str:
    """The folder with the config.json of a text tower of transformers.

    Raises:
        ValueError: if it is of no kind that the library itself has.
    """
    local = None if folder is None else folder / wanted
    found = local if local and local.is_dir() else hub_file(wanted, "config.json").parent
    AutoConfig.from_pretrained(found, trust_remote_code=False)
    return str(found)
