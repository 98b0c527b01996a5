"""Attention mechanisms under one contract: see `core.attention.mechanism`."""

import torch

from core.attention import flash
from core.attention.block_sparse import BLOCK_SPARSE
from core.attention.chunked import CHUNKED
from core.attention.favor import FAVOR
from core.attention.flash import FLASH
from core.attention.linear import LINEAR
from core.attention.longformer import LONGFORMER
from core.attention.mechanism import Mechanism
from core.attention.standard import STANDARD
from core.attention.topk import TOPK
from core.attention.window import WINDOW

MECHANISMS: dict[str, Mechanism] = {
    "standard": STANDARD,
    "flash": FLASH,
    "chunked": CHUNKED,
    "window": WINDOW,
    "longformer": LONGFORMER,
    "block_sparse": BLOCK_SPARSE,
    "topk": TOPK,
    "linear": LINEAR,
    "favor": FAVOR,
}


def unavailable(name: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why a mechanism cannot run on a device in a precision; None where it can."""
    return flash.unavailable(device, dtype) if name == "flash" else None
