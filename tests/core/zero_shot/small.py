"""Tiny CLIP models of open_clip with random weights, as objects and as a folder, and pictures."""

import json
from pathlib import Path

import numpy as np
import open_clip
import torch
from open_clip.transform import PreprocessCfg
from PIL import Image
from safetensors.torch import save_file

from core.models.clip.model import ClipModel
from core.models.vision.images import Picture

SIZE = 32
CONFIG = {
    "embed_dim": 13,
    "vision_cfg": {"image_size": SIZE, "patch_size": 8, "width": 22, "head_width": 11, "layers": 1},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 15, "heads": 3, "layers": 1},
}


def module(**own) -> open_clip.CLIP:
    """A CLIP of one layer a tower."""
    torch.manual_seed(0)
    return open_clip.CLIP(**CONFIG, **own)


def clip(name: str = "tiny", **own) -> ClipModel:
    """The same as a model; `init_logit_bias` makes it a SigLIP-like one."""
    preprocess = PreprocessCfg(size=SIZE)
    return ClipModel(module(**own), open_clip.SimpleTokenizer(), name, preprocess=preprocess)


def siglip() -> ClipModel:
    """The same with a bias, scored label by label."""
    return clip("tiny-siglip", init_logit_bias=-2.0)


def save(folder: Path) -> None:
    """The same as a folder that `load` takes."""
    folder.mkdir()
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG}))
    save_file(module().state_dict(), folder / "open_clip_model.safetensors")


def pictures(count: int) -> list[Picture]:
    """Pictures of noise, all different."""
    rng = np.random.default_rng(0)
    noise = rng.integers(0, 256, (count, SIZE, SIZE, 3), dtype=np.uint8)
    return [Picture(Image.fromarray(each), f"{index}.png") for index, each in enumerate(noise)]
