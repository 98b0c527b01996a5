"""Attention mechanisms under one contract: see `core.attention.mechanism`."""

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
