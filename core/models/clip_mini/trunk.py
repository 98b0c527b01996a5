"""clip-mini's image tower as a timm model: frozen lite0, the trained head, and ConSE.

Source: timm's contract for a trunk of open_clip's TimmModel (`forward_features`, `forward_head`),
https://github.com/huggingface/pytorch-image-models
"""

from typing import Any

import timm
import torch
from jaxtyping import Float
from timm.models import register_model
from torch import Tensor, nn

from core.models.clip_mini.conse import Conse, settled
from core.models.clip_mini.head import Head, HeadConfig
from core.models.clip_mini.lite0 import ARCHITECTURE, CLASSES

NAME = "headlight_clip_mini"

Hidden = Float[Tensor, "batch channel row column"]


class Trunk(nn.Module):
    """Pixels in, one vector in the joint space out.

    The hidden states are a map: the head's tokens, and behind them, in the same place, what ConSE
    reads of lite0's features.
    """

    def __init__(self, config: HeadConfig) -> None:
        """Start with random weights."""
        super().__init__()
        self.lite0 = timm.create_model(ARCHITECTURE)
        self.head = Head(config)
        self.conse = Conse(CLASSES, config.dim)
        self.register_buffer("share", torch.tensor(0.5))  # of ConSE in the vector, 0 to 1

    def forward_features(self, pixels: Float[Tensor, "batch 3 height width"]) -> Hidden:
        """The map of hidden states; gradients end at lite0's features."""
        # Channels last, as its weights are: on a processor that takes two thirds of the time.
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        features = self.lite0.forward_features(pixels)
        grid, places = tuple(features.shape[2:]), features.flatten(2).mT
        hidden = torch.cat([self.head.tokens(places, grid), settled(places)], dim=-1)
        return hidden.mT.unflatten(2, grid)

    def forward_head(self, hidden: Hidden) -> Float[Tensor, "batch dim"]:
        """One vector a picture: what the pool sees and what ConSE says, in their shares."""
        tokens, features = hidden.flatten(2).mT.tensor_split([self.head.config.width], dim=-1)
        pooled = self.head.pool(tokens, features)
        seen = self.head.projected(pooled.tokens)
        said = self.conse(self.lite0.classifier(pooled.features))
        return (1 - self.share) * seen + self.share * said

    def patch_embeddings(
        self, pixels: Float[Tensor, "batch 3 height width"]
    ) -> Float[Tensor, "batch row column dim"]:
        """Each place of the map in the joint space, not normalised, with its share of ConSE.

        A place is read as if the whole map were that place; after Zhou et al. 2022 (MaskCLIP),
        https://arxiv.org/abs/2112.01071
        """
        hidden = self.forward_features(pixels)
        alone = hidden.permute(0, 2, 3, 1).flatten(0, 2)[:, :, None, None]
        return self.forward_head(alone).unflatten(0, (len(hidden), *hidden.shape[2:]))

    def forward(self, pixels: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch dim"]:
        """One vector a picture, not normalised."""
        return self.forward_head(self.forward_features(pixels))


@register_model
def headlight_clip_mini(pretrained: bool = False, num_classes: int = 384, **_: Any) -> Trunk:
    """The trunk, by the name that open_clip's config gives it; `num_classes` is the joint width.

    open_clip can build a tower of its own only by a name in timm's registry.
    """
    return Trunk(HeadConfig(dim=num_classes))
