"""Attention pooling: one query attends to all tokens, and what it finds stands for the picture.

Sources: Lee et al. 2019, section 3.2 (a learned query), https://arxiv.org/abs/1810.00825; Zhai et
al. 2022 (with an MLP), https://arxiv.org/abs/2106.04560; Radford et al. 2021, section 2.4 (the mean
token asks), https://arxiv.org/abs/2103.00020
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.common.masks import Mask
from core.layers.attention import MultiHeadAttention
from core.layers.block import mlp
from core.layers.positions import LearnedGridPositions


class AttentionPooling(nn.Module):
    """One learned query attends to all tokens.

    The same as timm's `AttentionPoolLatent` with the same weights.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        mlp_ratio: float | None = None,
        eps: float = 1e-5,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of every token.
            heads: number of heads; divides `dim`.
            mlp_ratio: width of the hidden layer of a residual MLP after the pooling, in widths of a
                token; None for no MLP.
            eps: added to the variance in the norm before the MLP.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if `heads` does not divide `dim`, or the mechanism is unknown.
        """
        super().__init__()
        self.latent = nn.Parameter(nn.init.trunc_normal_(torch.empty(dim), std=dim**-0.5))
        self.attention = MultiHeadAttention(dim, heads, mechanism=mechanism)
        self.mlp = None
        if mlp_ratio is not None:
            self.mlp = nn.Sequential(nn.LayerNorm(dim, eps=eps), mlp(dim, int(dim * mlp_ratio)))

    def forward(
        self, tokens: Float[Tensor, "batch k dim"], *, mask: Mask | None = None
    ) -> Float[Tensor, "batch dim"]:
        """What the query saw; masks as in `core.layers.attention`, with one query."""
        query = self.latent.expand(len(tokens), 1, -1)
        pooled = self.attention(query, tokens, mask=mask).output[:, 0]
        return pooled if self.mlp is None else pooled + self.mlp(pooled)


class MeanQueryPooling(nn.Module):
    """The mean of a feature map attends to itself and to every place of the map.

    The same as the `AttentionPool2d` of CLIP's ResNets with the same weights; a map of another
    size than `grid` is taken too, with interpolated positions.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        grid: tuple[int, int],
        *,
        out_dim: int | None = None,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: number of channels of the map.
            heads: number of heads; divides `dim`.
            grid: rows and columns of the map that the positions are made for.
            out_dim: width of the output; None where it is the same as `dim`.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if `heads` does not divide `dim`, or the mechanism is unknown.
        """
        super().__init__()
        self.positions = LearnedGridPositions(dim, grid, prefix=1)
        self.attention = MultiHeadAttention(dim, heads, out_dim=out_dim, mechanism=mechanism)

    def forward(
        self, features: Float[Tensor, "batch dim row column"]
    ) -> Float[Tensor, "batch out_dim"]:
        """What the mean token saw; token 0 is the mean itself, then the map row by row."""
        places = features.flatten(2).transpose(1, 2)
        tokens = torch.cat([places.mean(dim=1, keepdim=True), places], dim=1)
        tokens = self.positions(tokens, tuple(features.shape[-2:]))
        return self.attention(tokens[:, :1], tokens).output[:, 0]
