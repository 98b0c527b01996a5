"""ConSE: what a classifier sees, said as one point in the space of a sentence encoder.

Source: Norouzi et al. 2014, equation 3, https://arxiv.org/abs/1312.5650
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

BEST = 10  # classes that have a say


class Conse(nn.Module):
    """The sentence embeddings of the likeliest class names, weighted by how likely they are."""

    names: Float[Tensor, "class dim"]

    def __init__(self, classes: int, dim: int) -> None:
        """Start with names of zeros; `names` is filled with weights.

        Args:
            classes: number of classes of the classifier.
            dim: width of a sentence embedding.
        """
        super().__init__()
        self.register_buffer("names", torch.zeros(classes, dim))

    def forward(self, logits: Float[Tensor, "*batch class"]) -> Float[Tensor, "*batch dim"]:
        """A vector for each row of logits; its length, at most 1, says how sure the class is."""
        # float32: among a thousand classes half precision loses the tenth.
        probability, best = logits.float().softmax(dim=-1).topk(BEST)
        said = torch.einsum("...c,...cd->...d", probability, self.names[best].float())
        return said.to(logits.dtype)


def settled(
    features: Float[Tensor, "batch position features"],
) -> Float[Tensor, "batch position features"]:
    """Each place's features, half its own and half the mean of all places.

    The classifier was made for the mean of a whole map; of one place alone it is too sure.
    """
    return (features + features.mean(dim=1, keepdim=True)) / 2
