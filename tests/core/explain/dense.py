"""Chefer's algorithm as published: every map a node of the graph, every R a whole matrix."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from core.attention import MECHANISMS
from core.explain.reader import Tower
from core.models.run import Prepared


class Published(NamedTuple):
    """What `relevances` shall give; the part of the identity in R is taken off."""

    positions: np.ndarray
    heads: np.ndarray


def published(
    tower: Tower,
    prepared: Prepared,
    direction: Tensor,
    monkeypatch: pytest.MonkeyPatch,
    *,
    item: int = 0,
    weights: Callable | None = None,
) -> Published:
    """The algorithm over dense maps, each a node of the graph."""
    # With frozen weights torch would run a kernel of its own that nobody can look into.
    tower.module.requires_grad_(True)
    with monkeypatch.context() as patch:
        maps = dense_maps(patch, weights or softmax_weights)
        score = F.cosine_similarity(tower.embed(prepared)[item], direction, dim=0)
    calls = weighted_maps(score, maps, item)
    tower.module.requires_grad_(False)
    reader, group = tower.reader(prepared, item), prepared.groups[0]
    layers = [calls[index] for index in group.calls]
    identity = torch.zeros(layers[0].shape[-1], dtype=torch.float64)
    patches = [place for place, name in enumerate(group.keys[item]) if name.patch is not None]
    if reader.kind == "query":
        pool = calls[prepared.groups[-1].calls[-1]][:, reader.index]
        if len(prepared.groups) == 1:
            return Published(pool.mean(dim=0).numpy(), pool[None].numpy())
        keys = prepared.groups[-1].keys[item]
        start = F.pad(pool.mean(dim=0), (len(identity) - len(keys), 0))
        read = start / start.sum()
    else:
        places = (patches or range(len(group.keys[item]))) if reader.kind == "mean" else [0]
        identity[places if reader.kind == "mean" else reader.index] = 1 / len(places)
        start = read = identity
    positions = start @ whole_r(layers) - identity
    heads = torch.stack([torch.einsum("q,hqk->hk", read, layer) for layer in layers])
    own = len(group.keys[item])
    assert not positions[own:].any()
    return Published(positions[:own].numpy(), heads[..., :own].numpy())


def softmax_weights(q, k, mask, is_causal, scale):
    """Softmax attention written out."""
    scores = q @ k.transpose(-2, -1) * scale
    if mask is not None:
        hidden = ~mask if mask.dtype == torch.bool else mask == -torch.inf
        scores = scores.masked_fill(hidden, -torch.inf)
    if is_causal:
        scores = scores.masked_fill(torch.ones_like(scores, dtype=torch.bool).triu(1), -torch.inf)
    return scores.softmax(dim=-1)


def linear_weights(q, k, mask, is_causal, scale):
    """The matrix that linear attention implies."""
    return MECHANISMS["linear"].weights(q, k, mask=mask, is_causal=is_causal)


def dense_maps(monkeypatch: pytest.MonkeyPatch, weights: Callable) -> list[Tensor]:
    """Put dense attention in the place of torch's; the list fills with maps (batch, head, q, k)."""
    maps = []

    def attention(q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, **_):
        scale = q.shape[-1] ** -0.5 if scale is None else scale
        repeats = q.shape[1] // k.shape[1]
        k, v = (tensor.repeat_interleave(repeats, dim=1) for tensor in (k, v))
        maps.append(weights(q, k, attn_mask, is_causal, scale))
        return maps[-1] @ v

    monkeypatch.setattr(F, "scaled_dot_product_attention", attention)
    return maps


def weighted_maps(score: Tensor, maps: list[Tensor], item: int) -> list[Tensor]:
    """(grad A x A)+ of one item, each (head, q, k); float64, as R adds small numbers to 1."""
    gradients = torch.autograd.grad(score, maps)
    return [
        (g * a).clamp(min=0)[item].detach().double() for g, a in zip(gradients, maps, strict=True)
    ]


def whole_r(layers: list[Tensor]) -> Tensor:
    """R of all self-attention layers, (position, position)."""
    r = torch.eye(layers[0].shape[-1], dtype=torch.float64)
    for layer in layers:
        r = r + layer.mean(dim=0) @ r
    return r


def same(found, expected: Published) -> None:
    """Fail unless both parts are equal to 1e-5."""
    assert found.positions.max() > 1e-5
    for one, other in zip((found.positions, found.heads), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-5 * other.max())
