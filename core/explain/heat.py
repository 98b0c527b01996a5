"""Heat: which patches of a picture answer a direction in the joint space, as a grid.

Two readings. Similarity: the cosine of each projected patch, as in MaskCLIP (Zhou, Loy and Dai
2022, https://arxiv.org/abs/2112.01071). Relevance: see `core.explain.relevance`.
"""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.explain.relevance import Relevance, alone, relevances
from core.models.clip import ClipModel
from core.models.clip.model import routed
from core.models.model import memory_explained
from core.models.run import Prepared
from core.types import Position

Grid = Float[np.ndarray, "row column"]
Direction = Float[Tensor, " dim"]


def similarity_map(
    model: ClipModel,
    prepared: Prepared,
    direction: Direction,
    mechanism: str | None = None,
    item: int = 0,
) -> Grid:
    """The cosine of each patch with the direction, -1 to 1.

    Raises:
        InputError: if the image tower cannot project its patches, or the mechanism or memory
            forbid it.
    """
    return _similarities(model, prepared, direction[None], mechanism, item)[0]


def similarity_difference(
    model: ClipModel,
    prepared: Prepared,
    directions: tuple[Direction, Direction],
    mechanism: str | None = None,
    item: int = 0,
) -> Grid:
    """The first direction's similarity map less the second's; positive where the first answers.

    Raises:
        InputError: as `similarity_map`.
    """
    first, second = _similarities(model, prepared, torch.stack(directions), mechanism, item)
    return first - second


def relevance_map(
    model: ClipModel,
    prepared: Prepared,
    direction: Direction,
    mechanism: str | None = None,
    item: int = 0,
) -> Grid:
    """How much each patch adds to the cosine of the picture and the direction; 0 or more.

    Raises:
        InputError: if the image tower has no attention, or the mechanism or memory forbid it.
    """
    found = relevances(model.image, prepared, direction[None], mechanism, item)[0]
    return patch_grid(found, prepared, item)


def relevance_difference(
    model: ClipModel,
    prepared: Prepared,
    directions: tuple[Direction, Direction],
    mechanism: str | None = None,
    item: int = 0,
) -> Grid:
    """The first direction's relevance map less the second's; positive where the first answers.

    Raises:
        InputError: as `relevance_map`.
    """
    both = relevances(model.image, prepared, torch.stack(directions), mechanism, item)
    first, second = (patch_grid(found, prepared, item) for found in both)
    return first - second


def patch_grid(found: Relevance, prepared: Prepared, item: int = 0) -> Grid:
    """The relevance of the patches as a grid; CLS and registers are left out."""
    return _grid(found.positions, prepared.groups[0].keys[item])


def _similarities(
    model: ClipModel,
    prepared: Prepared,
    directions: Float[Tensor, "direction dim"],
    mechanism: str | None,
    item: int,
) -> Float[np.ndarray, "direction row column"]:
    tower = model.image
    with torch.inference_mode(), memory_explained(tower.name):
        with routed(mechanism, prepared.grid):
            patches = tower.patch_embeddings(alone(prepared, item))[0].float()
        patches = F.normalize(patches, dim=-1)
        directions = F.normalize(directions.to(patches), dim=-1)
        return torch.einsum("rcd,nd->nrc", patches, directions).cpu().numpy()


def _grid(values: Float[np.ndarray, " position"], positions: tuple[Position, ...]) -> Grid:
    """The values of the patches at their rows and columns."""
    places = [position.patch for position in positions if position.patch is not None]
    rows, columns = (max(side) + 1 for side in zip(*places, strict=True))
    grid = np.zeros((rows, columns), dtype=np.float32)
    for value, position in zip(values, positions, strict=True):
        if position.patch is not None:
            grid[position.patch] = value
    return grid
