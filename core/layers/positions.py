"""Positions: where a token stands, added to what it is.

Sources: Vaswani et al. 2017, section 3.5 (sines and cosines), https://arxiv.org/abs/1706.03762;
Dosovitskiy et al. 2021, section 3.2 (learned, interpolated), https://arxiv.org/abs/2010.11929
"""

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn

LONGEST_WAVE = 10_000
LEARNED_STD = 0.02


def sinusoidal(length: int, dim: int) -> Float[Tensor, "length dim"]:
    """Column 2i is sin(position / 10000^(2i / dim)), column 2i + 1 the cosine of the same angle.

    Any length; an odd width ends in a sine without its cosine. Values lie in [-1, 1].
    """
    # float64: at position 100,000 a float32 angle is off by 0.01.
    position = torch.arange(length, dtype=torch.float64, device="cpu")
    even = torch.arange(0, dim, 2, dtype=torch.float64, device="cpu")
    angles = position[:, None] * LONGEST_WAVE ** (-even / dim)
    waves = torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)
    return waves[:, :dim].float()


class PositionalEncoding(nn.Module):
    """Sines and cosines added to every token; nothing is learned, nothing is kept.

    Computed for the input that comes, so no input is too long.
    """

    def forward(
        self, x: Float[Tensor, "batch position dim"]
    ) -> Float[Tensor, "batch position dim"]:
        """The tokens with their positions added."""
        return x + sinusoidal(*x.shape[1:]).to(x)


class LearnedPositions(nn.Module):
    """One learned vector a position, added to every token.

    A shorter input takes the first ones. A longer one gets them all, interpolated linearly from
    the first to the last over its whole length, so each token then stands elsewhere than in a
    short input.
    """

    def __init__(self, dim: int, length: int) -> None:
        """Start with random weights.

        Args:
            dim: width of a token.
            length: number of positions that are learned.
        """
        super().__init__()
        self.table = nn.Parameter(nn.init.trunc_normal_(torch.empty(length, dim), std=LEARNED_STD))

    def forward(
        self, x: Float[Tensor, "batch position dim"]
    ) -> Float[Tensor, "batch position dim"]:
        """The tokens with their positions added."""
        length, table = x.shape[1], self.table
        if length > len(table):
            table = F.interpolate(table.T[None].float(), length, mode="linear", align_corners=True)
            table = table[0].T.to(x)
        return x + table[:length]


class LearnedGridPositions(nn.Module):
    """One learned vector a place of a grid, added to every patch; prefix tokens have their own.

    A grid of another size gets them interpolated (bicubic, smoothed where it shrinks), as timm's
    vision transformers do; those of the prefix tokens stay as they are.
    """

    def __init__(self, dim: int, grid: tuple[int, int], *, prefix: int = 0) -> None:
        """Start with random weights.

        Args:
            dim: width of a token.
            grid: rows and columns that are learned.
            prefix: number of tokens before the patches, such as CLS.
        """
        super().__init__()
        self.grid, self.prefix = grid, prefix
        count = prefix + grid[0] * grid[1]
        self.table = nn.Parameter(nn.init.trunc_normal_(torch.empty(count, dim), std=LEARNED_STD))

    def forward(
        self, x: Float[Tensor, "batch position dim"], grid: tuple[int, int]
    ) -> Float[Tensor, "batch position dim"]:
        """The tokens with their positions added; patches come row by row.

        Args:
            x: prefix tokens, then rows x columns patches.
            grid: rows and columns of these patches.

        Raises:
            ValueError: if the number of tokens is not prefix + rows x columns.
        """
        if x.shape[1] != self.prefix + grid[0] * grid[1]:
            raise ValueError(
                f"{self.prefix} prefix tokens and {grid[0]} x {grid[1]} patches were wanted; "
                f"{x.shape[1]} tokens came"
            )
        return x + self.resized(grid)

    def resized(self, grid: tuple[int, int]) -> Float[Tensor, "position dim"]:
        """The learned vectors for a grid of this size."""
        if grid == self.grid:
            return self.table
        places = self.table[self.prefix :].T.unflatten(1, self.grid)[None].float()
        places = F.interpolate(places, grid, mode="bicubic", antialias=True)
        return torch.cat([self.table[: self.prefix], places[0].flatten(1).T.to(self.table)])
