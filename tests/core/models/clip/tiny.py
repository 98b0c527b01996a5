"""Tiny open_clip models of every kind, built from configs: a seed makes their weights."""

from pathlib import Path

import numpy as np
import open_clip
import torch
import transformers as hf
from open_clip.tokenizer import HFTokenizer
from open_clip.transform import PreprocessCfg
from PIL import Image
from torch import nn

from core.models.clip import ClipModel
from core.models.vision.images import Picture
from tests.core.models.text.tiny_text import word_piece

WIDTH, CONTEXT = 20, 17
TEXTS = ["a cat", "two dogs that bark!", "cats"]
SIZES = [(45, 71), (71, 45), (32, 32)]
VIT = {"layers": 3, "width": 24, "head_width": 6, "patch_size": 8, "image_size": 32}
RESNET = {"layers": [1, 1, 1, 1], "width": 8, "head_width": 16, "image_size": 64}
SIGLIP = {
    "timm_model_name": "test_vit3", "timm_pool": "map", "timm_proj": "linear", "image_size": 160,
}  # fmt: skip
CONV = {"timm_model_name": "test_convnext", "timm_pool": "", "image_size": 160}
TEXT = {"context_length": CONTEXT, "vocab_size": 49408, "width": 30, "heads": 5, "layers": 2}
TOKENIZER = open_clip.SimpleTokenizer(context_length=CONTEXT)
BOTH_WAYS = {"no_causal_mask": True, "pool_type": "last"}


def vit() -> ClipModel:
    """CLIP's own shape: a CLS token, and a causal text tower read at the end of the text."""
    return wrapped(open_clip.CLIP(WIDTH, VIT, TEXT))


def resnet() -> ClipModel:
    """Convolutions, then one attention pool."""
    return wrapped(open_clip.CLIP(WIDTH, RESNET, TEXT))


def siglip() -> ClipModel:
    """A trunk of timm with a register and an attention pool, a text tower that looks both ways."""
    text = TEXT | BOTH_WAYS
    module = open_clip.CustomTextCLIP(WIDTH, SIGLIP, text, init_logit_bias=-10.0)
    return wrapped(module, preprocess=PreprocessCfg(size=160, resize_mode="squash"))


def conv() -> ClipModel:
    """Convolutions and nothing else."""
    return wrapped(open_clip.CustomTextCLIP(WIDTH, CONV, TEXT))


def custom(folder: Path) -> ClipModel:
    """A text tower of transformers with its own tokenizer; `folder` takes its config."""
    save_bert(folder)
    return wrapped(custom_module(folder), HFTokenizer(str(folder), context_length=CONTEXT))


def custom_module(folder: Path) -> nn.Module:
    """The module of `custom`, from a folder that `save_bert` filled."""
    text = {
        "hf_model_name": str(folder), "hf_tokenizer_name": str(folder), "hf_proj_type": "mlp",
        "hf_model_pretrained": False, "hf_pooler_type": "mean_pooler", "context_length": CONTEXT,
    }  # fmt: skip
    return open_clip.CustomTextCLIP(WIDTH, VIT, text)


def save_bert(folder: Path) -> None:
    """The config of a tiny BERT and its tokenizer."""
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31,
    )  # fmt: skip
    config.save_pretrained(folder)
    word_piece().save_pretrained(folder)


def wrapped(module: nn.Module, tokenizer=None, preprocess=None, **options) -> ClipModel:
    """The model around a module whose every weight, also those that start at zero, is random."""
    seeded(module)
    tokenizer = tokenizer or TOKENIZER
    preprocess = preprocess or PreprocessCfg(size=module.visual.image_size)
    return ClipModel(module, tokenizer, "tiny", preprocess=preprocess, **options)


def seeded(module: nn.Module) -> nn.Module:
    rng = torch.Generator().manual_seed(0)
    scalars = {"logit_scale": 2.0, "logit_bias": -3.0}
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if name in scalars:
                weight.fill_(scalars[name])
            else:
                weight.add_(0.1 * torch.randn(weight.shape, generator=rng))
    return module.eval()


def pictures() -> list[Picture]:
    """Noise in three shapes."""
    rng = np.random.default_rng(0)
    return [
        Picture(Image.fromarray(rng.integers(0, 256, (*size, 3), dtype=np.uint8)), f"{size}.png")
        for size in SIZES
    ]
