"""Tiny open_clip models with random weights, one for each way in which an image is read."""

from functools import cache

import numpy as np
import open_clip
import timm
import torch
from open_clip.transform import PreprocessCfg
from PIL import Image
from torch import Tensor, nn

from core.models.clip import ClipModel
from core.models.vision.images import Picture

WIDTH, CONTEXT = 11, 13
TEXT = {"context_length": CONTEXT, "vocab_size": 49408, "width": 12, "heads": 3, "layers": 2}
VIT = {"image_size": (14, 21), "patch_size": 7, "width": 12, "head_width": 4, "layers": 3}

VISION = {
    "CLS": VIT,
    "mean of the patches": VIT | {"pool_type": "avg"},
    "attention pool of a timm tower": {
        "timm_model_name": "test_vit", "image_size": 160, "timm_pool": "", "timm_proj": "linear",
    },
    "attention pool of a ResNet": {
        "layers": (1, 1, 1, 1), "width": 8, "head_width": 8, "image_size": 64,
    },
    "no attention": {
        "timm_model_name": "test_convnext", "image_size": 64, "timm_pool": "avg",
        "timm_proj": "linear",
    },
}  # fmt: skip


@cache
def tiny_clip(kind: str = "CLS") -> ClipModel:
    """The same weights every time."""
    torch.manual_seed(0)
    vision = VISION[kind]
    module = open_clip.CLIP(WIDTH, vision, TEXT)
    if "pool of a timm" in kind:  # as SigLIP's, which is nowhere to be had as small
        module.visual.trunk = timm.models.VisionTransformer(
            img_size=160, patch_size=40, embed_dim=64, depth=2, num_heads=2, class_token=False,
            global_pool="map", num_classes=0,
        )  # fmt: skip
    for parameter in module.parameters():  # as built, some are too small for a gradient to show
        if parameter.ndim > 1:
            nn.init.normal_(parameter, std=0.3)
    size = vision["image_size"]
    return ClipModel(
        module,
        open_clip.SimpleTokenizer(context_length=CONTEXT),
        f"tiny CLIP, {kind}",
        preprocess=PreprocessCfg(size=size, mean=(0.5,) * 3, std=(0.25,) * 3),
    )


def pictures(count: int = 2) -> list[Picture]:
    """Noise, each another."""
    rng = np.random.default_rng(3)
    noise = rng.integers(0, 256, (count, 43, 67, 3), dtype=np.uint8)
    return [Picture(Image.fromarray(one), f"noise {index}") for index, one in enumerate(noise)]


def direction() -> Tensor:
    """A direction in the joint space."""
    return torch.randn(WIDTH, generator=torch.Generator().manual_seed(5))
