"""CLIP: two encoders whose outputs meet in one space, trained so that pairs lie close together.

Source: Radford et al. 2021, section 2.3 and figure 3, https://arxiv.org/abs/2103.00020
"""

import math

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor, nn

FIRST_LOG_SCALE = math.log(1 / 0.07)
MAX_LOG_SCALE = math.log(100)


class SimpleCLIP(nn.Module):
    """Two encoders, a projection after each, and one learned scale.

    The scale is a parameter like any other: it is kept as a logarithm, starts at 1 / 0.07 and is
    held at 100 at most.
    """

    def __init__(
        self,
        image_encoder: nn.Module,
        text_encoder: nn.Module,
        *,
        image_dim: int,
        text_dim: int,
        dim: int,
    ) -> None:
        """Start with random weights.

        Args:
            image_encoder: takes what `encode_image` is given, returns (batch, image_dim).
            text_encoder: takes what `encode_text` is given, returns (batch, text_dim).
            image_dim: width of the image encoder's output.
            text_dim: width of the text encoder's output.
            dim: width of the space in which both meet.
        """
        super().__init__()
        self.image_encoder, self.text_encoder = image_encoder, text_encoder
        self.image_projection = nn.Linear(image_dim, dim, bias=False)
        self.text_projection = nn.Linear(text_dim, dim, bias=False)
        for projection in (self.image_projection, self.text_projection):
            nn.init.normal_(projection.weight, std=projection.in_features**-0.5)
        self.logit_scale = nn.Parameter(torch.tensor(FIRST_LOG_SCALE))

    def encode_image(self, images: Tensor) -> Float[Tensor, "image dim"]:
        """Vectors of length 1."""
        return F.normalize(self.image_projection(self.image_encoder(images)), dim=-1)

    def encode_text(self, texts: Tensor) -> Float[Tensor, "text dim"]:
        """Vectors of length 1."""
        return F.normalize(self.text_projection(self.text_encoder(texts)), dim=-1)

    def scale(self) -> Float[Tensor, ""]:
        """What cosines are multiplied by, at most 100."""
        if not self.training:
            return self.logit_scale.clamp(max=MAX_LOG_SCALE).exp()
        # The parameter itself is held: a clamp in the graph would give it no way back down.
        with torch.no_grad():
            self.logit_scale.clamp_(max=MAX_LOG_SCALE)
        return self.logit_scale.exp()

    def forward(self, images: Tensor, texts: Tensor) -> Float[Tensor, "image text"]:
        """The logits: scale x cosine of every picture with every text."""
        return self.scale() * self.encode_image(images) @ self.encode_text(texts).T


def contrastive_loss(
    logits: Float[Tensor, "image text"],
    image_labels: Int[Tensor, " image"] | None = None,
    text_labels: Int[Tensor, " text"] | None = None,
) -> Float[Tensor, ""]:
    """Mean cross-entropy of finding the text of each picture, and the picture of each text.

    Where labels are given, all pairs of one label are right, and share the probability equally:
    two pictures of a cat are no mistake for each other's text.

    Args:
        logits: scale x cosine; row i and column i belong together where there are no labels.
        image_labels: one number a picture, the same for pictures of the same thing.
        text_labels: one number a text; None where text i has the label of picture i.

    Raises:
        ValueError: if pictures and texts without labels are not pairs, or one has no partner.
    """
    if image_labels is None:
        image_labels = torch.arange(len(logits), device=logits.device)
    text_labels = image_labels if text_labels is None else text_labels
    if (len(image_labels), len(text_labels)) != tuple(logits.shape):
        raise ValueError(
            f"one label a picture and a text was wanted, or as many texts as pictures; logits of "
            f"shape {tuple(logits.shape)}, {len(image_labels)} and {len(text_labels)} labels came"
        )
    right = image_labels[:, None] == text_labels
    if not (right.any(dim=0).all() and right.any(dim=1).all()):
        raise ValueError("a picture without a text of its label came, or a text without a picture")
    right = right.to(logits.dtype)
    to_text = F.cross_entropy(logits, right / right.sum(dim=1, keepdim=True))
    to_image = F.cross_entropy(logits.T, (right / right.sum(dim=0)).T)
    return (to_text + to_image) / 2
