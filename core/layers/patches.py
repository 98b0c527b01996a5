"""Patch embedding: a picture cut into squares, each turned into one token.

Source: Dosovitskiy et al. 2021, equation 1, https://arxiv.org/abs/2010.11929
"""

import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor, nn


class PatchEmbedding(nn.Module):
    """One linear map of every patch, for pictures of any size.

    A picture whose sides the patch does not divide is padded with zeros at its right and lower
    edge, so nothing of it is lost: `grid` says how many patches that makes. A model that would
    rather cut does so before it gets here. The same as timm's `PatchEmbed` (`dynamic_img_pad`)
    with the same weights.
    """

    def __init__(
        self,
        dim: int,
        patch: int | tuple[int, int],
        *,
        channels: int = 3,
        bias: bool = True,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of a token.
            patch: height and width of a patch in pixels; one number for a square.
            channels: number of colour channels.
            bias: whether the linear map adds a bias.
        """
        super().__init__()
        self.patch = (patch, patch) if isinstance(patch, int) else patch
        self.projection = nn.Conv2d(channels, dim, self.patch, stride=self.patch, bias=bias)

    def grid(self, height: int, width: int) -> tuple[int, int]:
        """Rows and columns of patches of a picture of this size, padding included."""
        return -(-height // self.patch[0]), -(-width // self.patch[1])

    def forward(
        self, images: Float[Tensor, "batch channel height width"]
    ) -> Float[Tensor, "batch patch dim"]:
        """One token a patch, row by row; `grid` gives their rows and columns.

        Raises:
            ValueError: if the number of colour channels is another than the layer's.
        """
        _, channels, height, width = images.shape
        if channels != self.projection.in_channels:
            raise ValueError(
                f"pictures of {self.projection.in_channels} channels were wanted; {channels} came"
            )
        rows, columns = self.grid(height, width)
        down, right = rows * self.patch[0] - height, columns * self.patch[1] - width
        padded = F.pad(images, (0, right, 0, down))
        return self.projection(padded).flatten(2).transpose(1, 2)
