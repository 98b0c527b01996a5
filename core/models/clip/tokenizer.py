"""The tokenizer that an open_clip model was trained with, from the package, a folder or the hub.

Source: open_clip's get_tokenizer,
https://github.com/mlfoundations/open_clip/blob/main/src/open_clip/factory.py
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HTTPError, LocalEntryNotFoundError
from open_clip.tokenizer import DEFAULT_CONTEXT_LENGTH, HFTokenizer, SimpleTokenizer

from core.errors import InputError
from core.models.files.hub import require_hub
from core.models.text.loading import TOKENIZER_FILES

WANTED = ["*.json", "*.txt", "*.model"]
UNWANTED = ["*/*"]


def tokenizer(
    text: Mapping[str, Any], folder: Path | None, name: str
) -> SimpleTokenizer | HFTokenizer:
    """The tokenizer that a model's `text_cfg` names; `folder` holds it for a local model.

    Raises:
        InputError: if its files cannot be had.
    """
    context = text.get("context_length", DEFAULT_CONTEXT_LENGTH)
    options = dict(text.get("tokenizer_kwargs") or {})
    wanted = text.get("hf_tokenizer_name")
    if not wanted:
        return SimpleTokenizer(context_length=context, **options)
    files = _from_hub(wanted) if folder is None else folder
    if not _has_tokenizer(files):
        raise InputError(f"'{name}' was wanted with its tokenizer (tokenizer.json); it has none.")
    return HFTokenizer(
        str(files),
        context_length=context,
        tokenizer_mode=text.get("tokenizer_mode"),
        trust_remote_code=False,
        **options,
    )


def _from_hub(repository: str) -> Path:
    """The folder of the hub's cache with a tokenizer, fetched unless it is there.

    Raises:
        InputError: if it is neither in the cache nor to be had from the hub.
    """
    wanted = {"repo_id": repository, "allow_patterns": WANTED, "ignore_patterns": UNWANTED}
    try:
        folder = Path(snapshot_download(**wanted, local_files_only=True))
        if _has_tokenizer(folder):
            return folder
    except LocalEntryNotFoundError:
        pass  # it is fetched below
    require_hub(repository)
    try:
        return Path(snapshot_download(**wanted))
    except (HfHubHTTPError, HTTPError, OSError) as error:
        first = str(error).strip().splitlines()[0]
        raise InputError(f"'{repository}' could not be fetched from the hub: {first}") from error


def _has_tokenizer(folder: Path) -> bool:
    names = (*TOKENIZER_FILES, "spiece.model", "sentencepiece.bpe.model", "tokenizer.model")
    return any((folder / file).is_file() for file in names)
