"""Features that a photograph of an ImageNet class could have, made from drawings.

A linear classifier of classes that share a covariance has weights inverse(covariance) x mean, so a
class lies in the direction covariance x weights. What a drawing gives is first brought to the mean
and spread that lite0's last norm remembers of photographs.

Sources: Fisher 1936, https://doi.org/10.1111/j.1469-1809.1936.tb02137.x (linear discriminants); Li
et al. 2016, https://arxiv.org/abs/1603.04779 (statistics of a batch norm stand for a domain); Yin
et al. 2020, https://arxiv.org/abs/1912.08795 (training without the data behind a model)
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

TOP = 6.0  # where lite0's activation ends (ReLU6)
# How far the logit of a class is raised before the activation cuts: lite0 then gives it a
# probability of 0.1 to 0.9.
LEAST, MOST = 40.0, 90.0


class Imagination:
    """Turns drawings into what photographs of given classes could look like to the head."""

    def __init__(self, lite0: nn.Module, drawn: Float[Tensor, "view position features"]) -> None:
        """Learn how drawings differ from photographs.

        Args:
            lite0: the classifier.
            drawn: what its last norm makes of many drawings, before the activation.
        """
        self.mean, self.spread = drawn.mean(dim=(0, 1)), drawn.std(dim=(0, 1)).clamp(min=1e-3)
        self.photo_mean, self.photo_spread = lite0.bn2.bias, lite0.bn2.weight.abs()
        covariance = torch.cov(self.as_photograph(drawn).clamp(0, TOP).mean(dim=1).T)
        weights = lite0.classifier.weight - lite0.classifier.weight.mean(dim=0)
        towards = weights @ covariance
        self.towards = towards / (weights * towards).sum(dim=1, keepdim=True)  # logit + 1

    def as_photograph(
        self, drawn: Float[Tensor, "batch position features"]
    ) -> Float[Tensor, "batch position features"]:
        """Every channel with the mean and spread that it has on photographs."""
        return (drawn - self.mean) / self.spread * self.photo_spread + self.photo_mean

    def __call__(
        self,
        drawn: Float[Tensor, "batch position features"],
        classes: Int[Tensor, " batch"],
        chance: torch.Generator,
    ) -> Float[Tensor, "batch position features"]:
        """Finished features: what is drawn, moved towards each class, some places more so."""
        batch, places, _ = drawn.shape
        steps = LEAST + (MOST - LEAST) * torch.rand(batch, 1, 1, generator=chance)
        steps = steps * 2 * torch.rand(batch, places, 1, generator=chance)
        moved = self.as_photograph(drawn) + steps * self.towards[classes][:, None]
        return moved.clamp(0, TOP)
