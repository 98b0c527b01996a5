"""Relevance: how much each patch or token of a tower adds to a cosine, by Chefer's rule.

Source: Chefer, Gur and Wolf 2021, section 3, https://arxiv.org/abs/2103.15679

R <- R + A R over the layers, A the mean over the heads of (dS/dA x A)+, R at first the identity.
Only the row that the embedding reads is needed, so only that row is made, from the last layer back:
r <- r + r A. What the identity itself puts at the positions read says nothing about the score, and
is left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.capture import capture
from core.explain.gradients import GradedCall, graded, weighted
from core.explain.reader import Tower, own_keys, reading_row, require_attention
from core.models.clip import ClipModel
from core.models.clip.facts import Reader
from core.models.model import memory_explained
from core.models.run import Prepared
from core.types import Group


@dataclass(frozen=True)
class Relevance:
    """What a score comes from; nowhere below 0.

    The positions are those of the tower's first group of calls.
    """

    positions: Float[np.ndarray, " position"]
    # (dS/dA x A)+ of the row that the embedding reads; of a mean, the mean of its rows; of a pool
    # behind the layers, the mean of all rows, each as much as the pool's own relevance says.
    heads: Float[np.ndarray, "layer head position"]


def image_relevance(
    model: ClipModel,
    prepared: Prepared,
    direction: Float[Tensor, " dim"],
    mechanism: str | None = None,
    item: int = 0,
) -> Relevance:
    """How much each position of a picture adds to the cosine of its embedding and a direction.

    Raises:
        InputError: if the image tower has no attention, or the mechanism or memory forbid it.
    """
    return relevances(model.image, prepared, direction[None], mechanism, item)[0]


def text_relevance(
    model: ClipModel,
    prepared: Prepared,
    direction: Float[Tensor, " dim"],
    mechanism: str | None = None,
    item: int = 0,
) -> Relevance:
    """How much each token of a text adds to the cosine of its embedding and a direction.

    Raises:
        InputError: if the text tower has no attention, or the mechanism or memory forbid it.
    """
    return relevances(model.text, prepared, direction[None], mechanism, item)[0]


def relevances(
    tower: Tower,
    prepared: Prepared,
    directions: Float[Tensor, "direction dim"],
    mechanism: str | None = None,
    item: int = 0,
) -> list[Relevance]:
    """The relevance for each of several directions, from one forward pass.

    Raises:
        InputError: if the tower has no attention, or the mechanism or memory forbid it.
    """
    require_attention(prepared, tower.name)
    reader, one = tower.reader(prepared, item), alone(prepared, item)
    # inference_mode leaves no graph, and whoever calls may be inside it.
    with torch.inference_mode(False), torch.enable_grad(), memory_explained(tower.name):
        with capture(mechanism, grid=prepared.grid, keep_outputs=True) as trace:
            embedding = tower.embed(one).float()
        scores = F.cosine_similarity(embedding, directions.to(embedding))
        found = []
        for index, score in enumerate(scores, start=1):
            calls = graded(score, trace.calls, again=index < len(scores))
            found.append(_relevance(prepared, reader, item, calls))
    return found


def alone(prepared: Prepared, item: int) -> Prepared:
    """The tensors of one item of a batch; labels and geometry stay those of the batch."""
    # Copied: a tensor made in inference_mode can be no part of a graph.
    tensors = {name: tensor[item : item + 1].clone() for name, tensor in prepared.tensors.items()}
    return replace(prepared, tensors=tensors)


class _Start(NamedTuple):
    """Where the way back through the layers begins."""

    read: Float[Tensor, " position"]  # how much the embedding reads of each position; sums to 1
    identity: Float[Tensor, " position"]  # the row of R before any layer
    gained: Float[Tensor, " position"]  # what has been added to it


@torch.no_grad()
def _relevance(
    prepared: Prepared, reader: Reader, item: int, calls: Sequence[GradedCall]
) -> Relevance:
    group, last = prepared.groups[0], prepared.groups[-1]
    if reader.kind == "query":
        of_pool = _pool_row(calls[last.calls[-1]], last, reader, item)
        if last is group:
            return _arrays(of_pool.mean(dim=0), of_pool[None], group, item)
        gained = _by_position(of_pool.mean(dim=0), last, group, item)
        read = gained / gained.sum().clamp(min=torch.finfo(gained.dtype).tiny)
        start = _Start(read, torch.zeros_like(gained), gained)
    else:
        row = reading_row(group, reader, item, calls[group.calls[0]].call.query)
        start = _Start(row, row, torch.zeros_like(row))
    return _through_layers(start, [calls[index] for index in group.calls], group, item)


def _through_layers(
    start: _Start, layers: Sequence[GradedCall], group: Group, item: int
) -> Relevance:
    heads, gained = [], start.gained
    for layer in reversed(layers):
        rows = weighted(layer, torch.stack([start.read, start.identity + gained]))
        heads.append(rows[:, 0])
        gained = gained + rows[:, 1].mean(dim=0)
    return _arrays(gained, torch.stack(heads[::-1]), group, item)


def _pool_row(pool: GradedCall, group: Group, reader: Reader, item: int) -> Float[Tensor, "head k"]:
    """The relevant part of what the pool's query looks at."""
    return weighted(pool, reading_row(group, reader, item, pool.call.query)[None])[:, 0]


def _by_position(
    of_keys: Float[Tensor, " k"], pool: Group, group: Group, item: int
) -> Float[Tensor, " position"]:
    """A number for every position of the layers, from one for every key of the pool."""
    places = {position: place for place, position in enumerate(group.queries[item])}
    positions = of_keys.new_zeros(len(places))
    positions[[places[key] for key in pool.keys[item]]] = of_keys
    return positions


def _arrays(
    positions: Float[Tensor, " k"], heads: Float[Tensor, "layer head k"], group: Group, item: int
) -> Relevance:
    own = own_keys(group, item)
    return Relevance(positions[own].cpu().numpy(), heads[..., own].cpu().numpy())
