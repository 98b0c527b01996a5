"""The part of clip-mini that is trained: a transformer over lite0's map, and an attention pool.

Source: Dosovitskiy et al. 2021 (a transformer over the map of a convolutional network, section
3.1), https://arxiv.org/abs/2010.11929; Lee et al. 2019 (pooling by a learned query, section 3.2),
https://arxiv.org/abs/1810.00825
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from core.attention.attend import attend
from core.layers import AttentionHeads, EncoderBlock, LearnedGridPositions


@dataclass(frozen=True)
class HeadConfig:
    """Sizes of the head."""

    features: int = 1280  # channels of the map it reads
    grid: tuple[int, int] = (7, 7)  # the map's rows and columns at 224 x 224 pixels
    width: int = 256
    heads: int = 8  # divides width and features
    depth: int = 1  # encoder blocks
    dim: int = 384  # of the joint space: that of minilm's sentence embeddings


class Pooled(NamedTuple):
    """What the pool's query sees of all places."""

    tokens: Float[Tensor, "*batch width"]
    features: Float[Tensor, "*batch features"]


class Head(nn.Module):
    """From a map of features to one vector in the joint space."""

    def __init__(self, config: HeadConfig) -> None:
        """Start with random weights."""
        super().__init__()
        self.config = config
        self.feature_norm = nn.LayerNorm(config.features)
        self.embed = nn.Linear(config.features, config.width)
        self.positions = LearnedGridPositions(config.width, config.grid)
        self.blocks = nn.ModuleList(
            EncoderBlock(config.width, config.heads) for _ in range(config.depth)
        )
        self.norm = nn.LayerNorm(config.width)
        self.pool = DoublePooling(config.width, config.heads)
        self.projection = nn.Linear(config.width, config.dim)

    def tokens(
        self,
        features: Float[Tensor, "batch position features"],
        grid: tuple[int, int],
        places: Int[Tensor, "batch position"] | None = None,
    ) -> Float[Tensor, "batch position width"]:
        """The places of a map after they looked at each other.

        Args:
            features: of each place, row by row; in training, of some places only.
            grid: rows and columns of the whole map.
            places: which places of each picture these are; all if None.
        """
        table = self.positions.resized(grid)
        tokens = self.embed(self.feature_norm(features))
        tokens = tokens + (table if places is None else table[places])
        for block in self.blocks:
            tokens = block(tokens)
        return self.norm(tokens)

    def projected(self, tokens: Float[Tensor, "*batch width"]) -> Float[Tensor, "*batch dim"]:
        """What was pooled, or one place's own value, as a vector of length 1."""
        return F.normalize(self.projection(tokens), dim=-1)


class DoublePooling(nn.Module):
    """One learned query gathers tokens and, with the same weights, the features under them.

    Each head takes its share of the channels of both, so what ConSE reads goes through attention
    too: a mechanism put in its place changes both, and one map explains both.
    """

    def __init__(self, width: int, heads: int) -> None:
        """Start with random weights."""
        super().__init__()
        self.latent = nn.Parameter(nn.init.trunc_normal_(torch.empty(width), std=width**-0.5))
        self.attention = AttentionHeads(width, width, heads)

    def forward(
        self,
        tokens: Float[Tensor, "batch position width"],
        features: Float[Tensor, "batch position features"],
    ) -> Pooled:
        """What the query sees."""
        layer = self.attention
        query = layer.split(layer.query(self.latent.expand(len(tokens), 1, -1)))
        key, own = layer.split(layer.key(tokens)), layer.split(layer.value(tokens))
        value = torch.cat([own, layer.split(features)], dim=-1)
        seen = attend(query, key, value, mechanism=layer.mechanism)[:, :, 0]
        return Pooled(seen[..., : own.shape[-1]].flatten(1), seen[..., own.shape[-1] :].flatten(1))
