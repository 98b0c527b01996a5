"""Layers: the building blocks of a transformer and of CLIP, each equal to its published twin."""

from core.layers.attention import (
    Attended,
    AttentionHeads,
    MultiHeadAttention,
    SelfAttention,
)
from core.layers.block import EncoderBlock, mlp
from core.layers.clip import SimpleCLIP, contrastive_loss
from core.layers.patches import PatchEmbedding
from core.layers.pooling import AttentionPooling, MeanQueryPooling
from core.layers.positions import (
    LearnedGridPositions,
    LearnedPositions,
    PositionalEncoding,
    sinusoidal,
)
from core.layers.separate_heads import SeparateHeads

__all__ = [
    "Attended",
    "AttentionHeads",
    "AttentionPooling",
    "EncoderBlock",
    "LearnedGridPositions",
    "LearnedPositions",
    "MeanQueryPooling",
    "MultiHeadAttention",
    "PatchEmbedding",
    "PositionalEncoding",
    "SelfAttention",
    "SeparateHeads",
    "SimpleCLIP",
    "contrastive_loss",
    "mlp",
    "sinusoidal",
]
