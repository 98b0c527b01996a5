"""A tiny Swin of timm with random weights, and its maps as timm computes them by hand."""

import json
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save_file
from timm.models import SwinTransformer
from timm.models.swin_transformer import window_partition
from torch import Tensor

from core.models.vision.images import Picture

# Stage 1: 8 x 12 patches, 2 x 4 windows of 4 x 3, shifted by 2 and 1. Stage 2: 4 x 6 patches, as
# high as one window, so shifted sideways only.
ARGUMENTS = {
    "img_size": (16, 24), "patch_size": 2, "window_size": (4, 3), "embed_dim": 12,
    "depths": (2, 3), "num_heads": (2, 3), "num_classes": 5,
}  # fmt: skip


def swin(**changed) -> SwinTransformer:
    torch.manual_seed(0)
    return SwinTransformer(**ARGUMENTS | changed).eval()


def noise(height: int = 16, width: int = 24, seed: int = 0) -> Picture:
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Picture(Image.fromarray(pixels), "noise")


def saved(folder: Path, **changed) -> Path:
    """The model in a folder, as timm saves one; its labels are animals."""
    folder.mkdir()
    save_file(swin(**changed).state_dict(), folder / "model.safetensors")
    arguments = ARGUMENTS | changed
    config = {
        "architecture": "swin_tiny_patch4_window7_224",
        "num_classes": arguments.pop("num_classes"),
        "model_args": arguments,
        "pretrained_cfg": {
            "input_size": [3, *arguments["img_size"]], "fixed_input_size": True, "crop_pct": 1.0,
            "mean": [0.5, 0.5, 0.5], "std": [0.5, 0.5, 0.5], "interpolation": "bicubic",
            "num_classes": 5, "label_names": ["cat", "dog", "owl", "elk", "bee"],
        },
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def dense_maps(module: SwinTransformer, pixels: Tensor) -> list[Tensor]:
    """Each block's maps over the whole picture, (picture, head, position, position).

    timm's softmax is put together by the numbers of the patches, sent through timm's own roll and
    partition; nothing of ours takes part.
    """
    inside, fused = [], [part for part in module.modules() if hasattr(part, "fused_attn")]
    hooks = [
        part.attn_drop.register_forward_pre_hook(lambda _, given: inside.append(given[0]))
        for part in fused
    ]
    before = [part.fused_attn for part in fused]
    for part in fused:
        part.fused_attn = False
    with torch.inference_mode():
        module(pixels)
    for hook, part, value in zip(hooks, fused, before, strict=True):
        hook.remove()
        part.fused_attn = value
    blocks = [block for layer in module.layers for block in layer.blocks]
    return [_dense(each, numbers(block)) for each, block in zip(inside, blocks, strict=True)]


def numbers(block) -> Tensor:
    """The number of the patch in each slot of each window."""
    height, width = block.input_resolution
    ids = torch.arange(height * width).reshape(1, height, width, 1)
    rolled = torch.roll(ids, [-step for step in block.shift_size], dims=(1, 2))
    return window_partition(rolled, block.window_size).reshape(-1, block.window_area)


def forbidden(block) -> Tensor:
    """True where timm's own mask parts two patches of one window, over the whole picture."""
    slots, mask = numbers(block), block.attn_mask
    if mask is None:
        mask = torch.zeros(len(slots), block.window_area, block.window_area)
    return _dense((mask != 0)[:, None].float(), slots)[0, 0] > 0


def _dense(weights: Tensor, slots: Tensor) -> Tensor:
    """Weights of windows, put where their patches are in a picture."""
    pictures, heads = len(weights) // len(slots), weights.shape[1]
    found = torch.zeros(pictures, heads, slots.numel(), slots.numel())
    for index, own in enumerate(weights):
        at = slots[index % len(slots)]
        found[index // len(slots)][:, at[:, None], at] = own
    return found
