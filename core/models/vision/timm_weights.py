"""timm modules with their weights: by name, from the hub, or from a folder.

Source: timm's factory, https://huggingface.co/docs/timm/reference/models. The hub is asked here,
not by timm, so that only safetensors are read and nobody waits long.
"""

import difflib
import json
from pathlib import Path
from typing import Any

import timm
import torch
from safetensors import SafetensorError
from timm.models import get_pretrained_cfg, is_model, split_model_name_tag
from torch import nn

from core.errors import InputError
from core.models.files.hub import check_folder, hub_file
from core.models.vision.timm_facts import require_grids

WEIGHTS = "model.safetensors"


def is_timm(name: str) -> bool:
    """Is this one of timm's names?"""
    return name.startswith(("timm/", "hf-hub:timm/")) or is_model(name)


def timm_module(name: str, *, any_size: bool = False) -> tuple[nn.Module, str]:
    """The module with its weights, and its name without prefix or path.

    Args:
        name: timm's name, 'owner/name' on the hub, or a folder.
        any_size: build it so that it takes pictures of any size.

    Raises:
        InputError: if it is unknown, of a kind that has no maps, or has no safetensors.
    """
    folder = Path(name).expanduser()
    if folder.is_dir() or name.startswith(("/", "./", "../", "~")):
        return _from_folder(folder, any_size), folder.resolve().name
    name = name.removeprefix("hf-hub:").removeprefix("hf_hub:")
    short = name.removeprefix("timm/")
    if is_model(split_model_name_tag(short)[0]):
        return _by_name(short, any_size), short
    if "/" not in short and "/" not in name:
        raise InputError(_unknown(short))
    hub_file(name, "config.json")
    return _from_folder(hub_file(name, WEIGHTS).parent, any_size), name


def _by_name(name: str, any_size: bool) -> nn.Module:
    try:
        empty = _empty(name)
    except RuntimeError as error:  # timm's word for a tag that it does not have
        raise InputError(
            f"'{name}' was wanted; timm has no weights of that name{_tags(name)}."
        ) from error
    require_grids(empty, name)
    config = get_pretrained_cfg(name)
    if config is None or not config.hf_hub_id:
        raise InputError(
            f"'{name}' was wanted with weights; timm knows none of that name{_tags(name)}."
        )
    filename = config.hf_hub_filename or WEIGHTS
    if not filename.endswith(".safetensors"):
        raise InputError(f"'{name}' was wanted as safetensors; the hub has {filename} only.")
    weights = hub_file(config.hf_hub_id, filename)
    # A file given here must be a plain state dict, whatever the original release was.
    overlay = {"file": str(weights), "custom_load": False}
    return _build(name, name, _size_options(empty, any_size) | {"pretrained_cfg_overlay": overlay})


def _from_folder(folder: Path, any_size: bool) -> nn.Module:
    check_folder(folder)
    if not (folder / WEIGHTS).is_file():
        raise InputError(f"'{folder.name}' was wanted with {WEIGHTS}; its weights are split.")
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        architecture = str(config["architecture"])
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"The config.json of '{folder.name}' was wanted with timm's \"architecture\"; "
            "it has none."
        ) from error
    if not is_model(architecture):
        raise InputError(_unknown(architecture))
    require_grids(_empty(architecture), folder.name)
    source, options = f"local-dir:{folder}", {}
    if "pretrained_cfg" not in config and "input_size" not in config:
        # timm would take 224 pixels for granted and resample the positions to that.
        source, options = architecture, _bare_options(folder, config)
    try:
        empty = _empty(source, **options)
    except (RuntimeError, TypeError, ValueError) as error:
        raise InputError(
            f"A config.json that timm can build was wanted; '{folder.name}' has another ({error})."
        ) from error
    return _build(source, folder.name, options | _size_options(empty, any_size))


def _bare_options(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """For a config.json with little more than the architecture: all else is timm's default."""
    # No tag: what the classes of somebody's own weights are is not known.
    overlay = {"file": str(folder / WEIGHTS), "custom_load": False, "tag": ""}
    options = dict(config.get("model_args", {}))
    if "num_classes" in config:
        overlay["num_classes"] = options["num_classes"] = config["num_classes"]
    return options | {"pretrained_cfg_overlay": overlay}


def _empty(source: str, **options: Any) -> nn.Module:
    """The module without weights or memory: enough to see what kind and size it is."""
    with torch.device("meta"):
        return timm.create_model(source, **options)


def _size_options(empty: nn.Module, any_size: bool) -> dict[str, Any]:
    """What to build with; a module of any size keeps the grid that its positions were trained on.

    Left to itself timm would build it for 224 pixels and resample the positions to that.
    """
    if not any_size:
        return {}
    return {"dynamic_img_size": True, "img_size": tuple(empty.patch_embed.img_size)}


def _build(source: str, name: str, options: dict[str, Any]) -> nn.Module:
    try:
        return timm.create_model(source, pretrained=True, **options)
    except (RuntimeError, SafetensorError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"'{name}' was wanted with weights that fit its architecture; they do not ({reason})."
        ) from error


def _tags(name: str) -> str:
    architecture = split_model_name_tag(name)[0]
    known = timm.list_models(f"{architecture}.*", pretrained=True)
    return f": it has {', '.join(known[:5])}" if known else ""


def _unknown(name: str) -> str:
    known = [*timm.list_models(), *timm.list_pretrained()]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; near it are {', '.join(near)}" if near else ""
    return f"The name of a timm model was wanted; timm knows no '{name}'{hint}."
