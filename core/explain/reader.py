"""Reader: which row of the maps the embedding is read from.

The end of the text or CLS is one row; a mean of patches is the mean of their rows; an attention
pool is a row of a call of its own, behind those of the layers.
"""

from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.explain.gradients import attended
from core.models.clip.facts import Reader
from core.models.run import Prepared, Run
from core.types import Group


@runtime_checkable
class Tower(Protocol):
    """What a model must tell so that its embedding can be explained."""

    name: str

    def embed(self, prepared: Prepared) -> Float[Tensor, "batch dim"]:
        """The embedding, with its graph."""
        ...

    def reader(self, prepared: Prepared, item: int = 0) -> Reader:
        """How the last hidden states become the embedding."""
        ...


def reading_row(
    group: Group, reader: Reader, item: int, like: Float[Tensor, "batch head q dim"]
) -> Float[Tensor, " q"]:
    """How much of each query of a group the embedding reads; sums to 1.

    Args:
        group: whose queries they are.
        reader: what the tower says of them.
        item: which of the batch.
        like: the recorded queries, for their number and device.
    """
    row = torch.zeros(like.shape[2], device=like.device)
    if reader.kind == "mean":
        first = group.first_query[item] if group.first_query else 0
        positions = group.queries[item]
        patches = [place for place, position in enumerate(positions) if position.patch is not None]
        read = torch.tensor(patches or range(len(positions)), device=like.device) + first
        row[read] = 1 / len(read)
    else:
        row[reader.index] = 1
    return row


def token_attention(
    tower: Tower, run: Run, item: int = 0
) -> Float[np.ndarray, "layer head position"]:
    """What the embedding's reader looks at: the end of the text, CLS or the mean of the patches.

    Of an attention pool, what its query looks at, which is one layer.

    Raises:
        InputError: if the tower has no attention.
    """
    require_attention(run.prepared, tower.name)
    reader = tower.reader(run.prepared, item)
    group = run.prepared.groups[-1 if reader.kind == "query" else 0]
    calls = [run.trace.calls[index] for index in group.calls]
    row = reading_row(group, reader, item, calls[0].query)
    weights = torch.stack([attended(call, row, item) for call in calls])
    return weights[..., own_keys(group, item)].cpu().numpy()


def own_keys(group: Group, item: int) -> slice:
    """Where the keys of one item of a padded batch lie."""
    first = group.first_key[item] if group.first_key else 0
    return slice(first, first + len(group.keys[item]))


def require_attention(prepared: Prepared, name: str) -> None:
    """Refuse a tower that is all convolutions.

    Raises:
        InputError: if no call of attention is to be expected of it.
    """
    if not any(group.calls for group in prepared.groups):
        raise InputError(
            "Attention over one grid of positions was wanted, to see where a score comes from; "
            f"this tower of '{name}' has none, as convolutional networks have."
        )


def last_attention(tower: Tower, run: Run, item: int = 0) -> Float[np.ndarray, " position"]:
    """What the embedding reads in the last layer, the mean over its heads; sums to at most 1."""
    return token_attention(tower, run, item)[-1].mean(axis=0)
