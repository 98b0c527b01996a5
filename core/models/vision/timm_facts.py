"""What a timm module says of itself: its tokens, its labels, how often it attends.

Source: timm's model classes, https://github.com/huggingface/pytorch-image-models
"""

import re

from timm.data import ImageNetInfo, infer_imagenet_subset
from timm.models import Beit, Eva, SwinTransformer, VisionTransformer, VisionTransformerRelPos
from torch import nn

from core.errors import InputError

ONE_GRID = (VisionTransformer, Eva, Beit, VisionTransformerRelPos)


def require_grids(module: nn.Module, name: str) -> None:
    """Return if every position of a layer is a prefix token or a patch of the layer's grid.

    Raises:
        InputError: if not; the message says what the model does instead.
    """
    if isinstance(module, (*ONE_GRID, SwinTransformer)):
        return
    if any(hasattr(part, "window_size") for part in module.modules()):
        raise InputError(
            f"'{name}' is a {type(module).__name__}, which attends inside windows in a way that "
            "can't be recorded: choose a Swin of the first version, such as "
            "swin_tiny_patch4_window7_224, or a plain vision transformer, such as "
            "vit_base_patch16_224."
        )
    raise InputError(
        f"A plain vision transformer or a Swin was wanted; '{name}' is a {type(module).__name__}, "
        "whose positions are not a grid of patches."
    )


def label_names(module: nn.Module) -> tuple[str, ...]:
    """The class labels in a person's words; none where it is not known what the classes are.

    A head of a thousand classes need not be ImageNet's: only a pretrained tag that says so counts.
    """
    config = getattr(module, "pretrained_cfg", None) or {}
    classes = getattr(module, "num_classes", 0)
    names = config.get("label_names") or ()
    if classes and len(names) == classes:
        words = config.get("label_descriptions") or {}
        return tuple(words.get(name, name) for name in names)
    subset = infer_imagenet_subset(module)
    if not subset or not re.search(r"in(1|12|21|22)k", config.get("tag") or ""):
        return ()
    return tuple(ImageNetInfo(subset).label_descriptions())


def attentions(blocks: nn.Module) -> int:
    """Number of attention calls: a block may hold two in parallel."""
    return sum(hasattr(part, "fused_attn") for part in blocks.modules())


def prefix_names(module: nn.Module) -> tuple[str, ...]:
    """Names of the positions before the patches, in timm's order."""
    registers = getattr(module, "reg_token", None)
    names = ("CLS",) if getattr(module, "cls_token", None) is not None else ()
    names += ("DIST",) if getattr(module, "dist_token", None) is not None else ()
    count = 0 if registers is None else registers.shape[1]
    return names + tuple(f"register {index}" for index in range(1, count + 1))
