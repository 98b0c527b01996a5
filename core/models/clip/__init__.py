"""CLIP models of open_clip: see `model.ClipModel`, and `loading.load_clip` for models by name."""

from core.models.clip.facts import ClipFacts, Reader
from core.models.clip.image_tower import ImageTower
from core.models.clip.model import ClipModel
from core.models.clip.text_tower import TextTower

__all__ = ["ClipFacts", "ClipModel", "ImageTower", "Reader", "TextTower"]
