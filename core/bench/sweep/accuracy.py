"""Accuracy: how far a mechanism's map and output are from softmax attention in float64.

The weights come from the very call that is timed, not from a formula beside it: attention is linear
in v, so the gradient of output number (row, column) with respect to column `column` of v is that
row of the map. Each column of v yields one row, and no q x k matrix is ever made.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.masks import Mask
from core.attention.common.mechanism import Attend
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.softmax import masked_softmax
from core.bench.sweep.estimate import CHECKED_ROWS
from core.bench.sweep.messages import Accuracy

# The largest output error of an exact mechanism: sums of thousands of numbers, rounded.
ALLOWED = {torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 2e-2}

Heads = Float[Tensor, "batch head q dim"]
Shared = Float[Tensor, "batch kv_head k value_dim"]
Looks = Float[Tensor, "batch head rows k"]


class Rows(NamedTuple):
    """Some rows of attention."""

    weights: Looks
    output: Float[Tensor, "batch head rows dim"]


def checked_rows(length: int, dim: int) -> list[int]:
    """Which queries are looked at: all of a short input, else some from the first to the last."""
    count = min(length, dim, CHECKED_ROWS)
    return [index * (length - 1) // max(count - 1, 1) for index in range(count)]


def rows_of(attend: Attend, query: Heads, key: Shared, value: Shared, is_causal: bool) -> Rows:
    """What a mechanism really did in those rows."""
    rows = checked_rows(query.shape[2], value.shape[-1])
    value = value.detach().requires_grad_()
    sharing = query.shape[1] // value.shape[1]  # heads that read one v: they have to take turns
    with torch.enable_grad():
        output = attend(query, key, value, is_causal=is_causal)
        weights = []
        for place in range(sharing):
            picked = output[:, place::sharing, rows, list(range(len(rows)))]
            (gradient,) = torch.autograd.grad(picked.sum(), value, retain_graph=True)
            weights.append(gradient[..., : len(rows)].mT)
    return Rows(torch.stack(weights, dim=2).flatten(1, 2), output.detach()[:, :, rows])


def softmax_rows(
    query: Heads,
    key: Shared,
    value: Shared,
    is_causal: bool,
    *,
    mask: Mask | None = None,
    scale: float | None = None,
) -> Rows:
    """The same rows of softmax attention in float64; on the CPU, as not all devices have it."""
    rows = checked_rows(query.shape[2], value.shape[-1])
    heads, scale = query.shape[1], query.shape[-1] ** -0.5 if scale is None else scale
    query, key, value = (
        tensor.detach().cpu().double() for tensor in (query[:, :, rows], key, value)
    )
    scores = query @ expand_kv_heads(key, heads).mT * scale
    if is_causal:
        ahead = torch.arange(key.shape[2]) > torch.tensor(rows)[:, None]
        scores = scores.masked_fill(ahead, -torch.inf)
    if mask is not None:
        mask = mask.cpu()
        mask = mask if mask.shape[-2] == 1 else mask[..., rows, :]
        mask = mask if mask.dtype == torch.bool else mask.double()
    weights = masked_softmax(scores, mask, False)
    return Rows(weights, weights @ expand_kv_heads(value, heads))


def accuracy(mechanism: str, length: int, found: Rows, softmax: Rows) -> Accuracy:
    """The distances between both."""
    weights, output = found.weights.cpu().double(), found.output.cpu().double()
    variation = (weights - softmax.weights).abs().sum(dim=-1) / 2
    error = (output - softmax.output).norm() / softmax.output.norm()
    return Accuracy(
        mechanism=mechanism,
        length=length,
        rows=weights.shape[2],
        output_error=error.item(),
        total_variation=variation.mean().item(),
        worst_variation=variation.max().item(),
        entropy=entropy(weights),
        softmax_entropy=entropy(softmax.weights),
    )


def entropy(weights: Looks) -> float:
    """-sum w ln w of a row, mean of the rows: 0 looks at one key, ln k at all of k keys alike."""
    return torch.special.entr(weights.clamp(min=0)).sum(dim=-1).mean().item()
