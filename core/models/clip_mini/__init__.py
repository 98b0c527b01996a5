"""clip-mini, our own small CLIP: frozen lite0 and minilm, joined by a head of attention.

An open_clip model (`CustomTextCLIP`) like any other, built without a hub. `training` beside this
file trains the head; assets/clip-mini.md says from what, and what it cannot do.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from open_clip.model import CustomTextCLIP
from open_clip.tokenizer import HFTokenizer
from open_clip.transform import PreprocessCfg
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from core.errors import InputError
from core.models.clip_mini.lite0 import MEAN, STD, load_lite0
from core.models.clip_mini.trunk import NAME
from core.models.files import weights
from core.models.files.quiet import quiet

DIM = 384  # of the joint space: that of minilm's sentence embeddings, which stay as they are
CONTEXT = 256  # tokens of a text: what minilm was made for, of the 512 that it has positions for
PREPROCESS = PreprocessCfg(size=224, mean=MEAN, std=STD, interpolation="bicubic")
ASSET = Path(__file__).resolve().parents[3] / "assets" / "clip-mini.safetensors"
# The parts that are kept in the asset; lite0 and minilm come from `core.models.files.weights`.
KEPT = ("visual.trunk.head.", "visual.trunk.conse.", "visual.trunk.share", "logit_scale")


class ClipParts(NamedTuple):
    """An open_clip model with what it needs around it."""

    module: CustomTextCLIP
    preprocess: PreprocessCfg  # `open_clip.transform.image_transform_v2` makes a transform of it
    tokenizer: HFTokenizer
    context: int  # tokens of a text that are read


def build(on_progress: weights.Progress | None = None) -> ClipParts:
    """clip-mini with its weights, frozen, on the CPU.

    Raises:
        InputError: if the weights of lite0 or minilm cannot be fetched, or the asset is damaged.
    """
    parts = untrained(on_progress)
    load_head(parts.module, ASSET)
    return parts


def untrained(on_progress: weights.Progress | None = None, cache: Path | None = None) -> ClipParts:
    """clip-mini with lite0 and minilm as they are, and a head of random weights; all frozen.

    Raises:
        InputError: if the weights of lite0 or minilm cannot be fetched.
    """
    lite0 = load_lite0(on_progress, cache)
    minilm = str(weights.fetch("minilm", on_progress, cache))
    with quiet():
        module = CustomTextCLIP(
            DIM,
            vision_cfg={
                "timm_model_name": NAME,
                "timm_pool": "",
                "timm_proj": "",
                "image_size": 224,
            },
            text_cfg={
                "hf_model_name": minilm,
                "hf_proj_type": None,
                "hf_pooler_type": "mean_pooler",
            },
        )
        tokenizer = HFTokenizer(minilm, context_length=CONTEXT, trust_remote_code=False)
    module.visual.trunk.lite0.load_state_dict(lite0.state_dict(), strict=True)
    module.visual.trunk.lite0.to(memory_format=torch.channels_last)
    return ClipParts(module.eval().requires_grad_(False), PREPROCESS, tokenizer, CONTEXT)


def head_state(module: CustomTextCLIP) -> dict[str, Tensor]:
    """The weights that the asset keeps, by their names in the module."""
    return {name: tensor for name, tensor in module.state_dict().items() if name.startswith(KEPT)}


def save_head(module: CustomTextCLIP, path: Path) -> None:
    """Write the weights that the asset keeps, in float16; the file appears whole or not at all.

    Raises:
        InputError: if the file cannot be written.
    """
    parts = {name: tensor.half().contiguous() for name, tensor in head_state(module).items()}
    partial = path.with_name(f"{path.name}.partial")
    try:
        partial.write_bytes(save(parts))
        partial.replace(path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}.") from error


def load_head(module: CustomTextCLIP, path: Path) -> None:
    """Put the kept weights of a file into the module.

    Raises:
        InputError: if the file is not there, is damaged, or holds other weights.
    """
    wanted = head_state(module)
    try:
        stored = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"The weights of clip-mini's head were wanted; '{path.name}' cannot be read: run "
            "'python -m core train clip-mini' to make it again."
        ) from error
    shapes = {name: tensor.shape for name, tensor in stored.items()}
    if shapes != {name: tensor.shape for name, tensor in wanted.items()}:
        raise InputError(
            f"The {len(wanted)} weights of clip-mini's head were wanted; '{path.name}' holds "
            "others."
        )
    with torch.no_grad():
        for name, tensor in stored.items():
            wanted[name].copy_(tensor)  # state_dict gives the module's own tensors
