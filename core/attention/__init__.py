"""Attention mechanisms under one contract: see `core.attention.mechanism`."""

from core.attention.flash import FLASH
from core.attention.mechanism import Mechanism
from core.attention.standard import STANDARD

MECHANISMS: dict[str, Mechanism] = {
    "standard": STANDARD,
    "flash": FLASH,
}
