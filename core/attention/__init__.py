"""Attention mechanisms under one contract: see `core.attention.mechanism`."""

import torch

from core.attention import flash
from core.attention.favor import FAVOR
from core.attention.flash import FLASH
from core.attention.linear import LINEAR
from core.attention.mechanism import Mechanism
from core.attention.standard import STANDARD

MECHANISMS: dict[str, Mechanism] = {
    "standard": STANDARD,
    "flash": FLASH,
    "linear": LINEAR,
    "favor": FAVOR,
}


def unavailable(name: str, device: torch.device, dtype: torch.dtype) -> str | None:
    """Why a mechanism cannot run on a device in a precision; None where it can."""
    return flash.unavailable(device, dtype) if name == "flash" else None
