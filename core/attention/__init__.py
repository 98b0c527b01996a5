"""Attention mechanisms under one contract: see `core.attention.common.mechanism`."""

import torch

from core.attention.block_sparse import BLOCK_SPARSE
from core.attention.chunked import CHUNKED
from core.attention.common.mechanism import Mechanism
from core.attention.cudnn import CUDNN
from core.attention.favor import FAVOR
from core.attention.flash import FLASH
from core.attention.flash_attn import FLASH_ATTN
from core.attention.flex import FLEX
from core.attention.linear import LINEAR
from core.attention.longformer import LONGFORMER
from core.attention.standard import STANDARD
from core.attention.swin import SWIN, SWIN_SHIFTED
from core.attention.topk import TOPK
from core.attention.window import WINDOW

MECHANISMS: dict[str, Mechanism] = {
    "standard": STANDARD,
    "flash": FLASH,
    "flex": FLEX,
    "cudnn": CUDNN,
    "flash_attn": FLASH_ATTN,
    "chunked": CHUNKED,
    "window": WINDOW,
    "longformer": LONGFORMER,
    "block_sparse": BLOCK_SPARSE,
    "swin": SWIN,
    "swin_shifted": SWIN_SHIFTED,
    "topk": TOPK,
    "linear": LINEAR,
    "favor": FAVOR,
}


def title_of(name: str) -> str:
    """A mechanism's title; the name itself of one that is not here, such as a saved run's."""
    return MECHANISMS[name].title if name in MECHANISMS else name


def unavailable(name: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why a mechanism cannot run on a device in a precision; None where it can."""
    reason = MECHANISMS[name].unavailable
    return None if reason is None else reason(device, dtype)
