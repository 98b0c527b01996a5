"""Gradient-weighted attention: how much of a score each weight of a recorded call carries.

Source: Chefer, Gur and Wolf 2021, section 3, https://arxiv.org/abs/2103.15679

A layer's map is (dS/dA x A)+. Its two factors come in rows: A from the recorded q and k, and
dS/dA = (dS/dO) V^T from the gradient of the call's output O = A V. So the model runs its fast
kernels, and no N x N matrix is ever in the graph.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from core.capture.trace import AttentionCall
from core.capture.weights import BLOCK_CELLS, weights_of

# A power of two, so nothing is rounded: float16 gradients of a cosine would vanish without it.
GRADIENT_SCALE = 2.0**10


class GradedCall(NamedTuple):
    """A recorded call and the gradient of a score by its output."""

    call: AttentionCall
    gradient: Float[Tensor, "batch head q value_dim"]


def graded(
    score: Float[Tensor, ""], calls: Sequence[AttentionCall], *, again: bool = False
) -> list[GradedCall]:
    """Each call with its gradient; zeros where the score does not depend on it.

    No gradient is left on a parameter.

    Args:
        score: one number that depends on the outputs of the calls.
        calls: recorded by `capture(keep_outputs=True)`.
        again: keep the graph for another score of the same pass.
    """
    gradients = torch.autograd.grad(
        score,
        [call.output for call in calls],
        grad_outputs=torch.full_like(score, GRADIENT_SCALE),
        retain_graph=again,
        allow_unused=True,
        materialize_grads=True,
    )
    return [
        GradedCall(call, gradient.reshape(*call.query.shape[:3], -1).float() / GRADIENT_SCALE)
        for call, gradient in zip(calls, gradients, strict=True)
    ]


def weighted(
    graded: GradedCall, rows: Float[Tensor, "row q"], batch: int = 0
) -> Float[Tensor, "head row k"]:
    """Rows times the gradient-weighted map of every head, made some queries at a time.

    A row with a single 1 reads one row of each map; a row of 1/q everywhere, their mean.
    """
    call = graded.call
    value = call.value[batch].float()
    value = value.repeat_interleave(call.heads // value.shape[0], dim=0)
    total = value.new_zeros(call.heads, len(rows), value.shape[1])
    for part in _parts(rows, call.heads * value.shape[1]):
        slope = graded.gradient[batch, :, part] @ value.mT
        relevant = slope.mul_(weights_of(call, slice(None), part, batch)).clamp_(min=0)
        total += rows[:, part] @ relevant
    return total


def attended(
    call: AttentionCall, row: Float[Tensor, " q"], batch: int = 0
) -> Float[Tensor, "head k"]:
    """A row times the map of every head: what its queries look at, some queries at a time."""
    total = row.new_zeros(call.heads, call.keys)
    for part in _parts(row[None], total.numel()):
        total += row[part] @ weights_of(call, slice(None), part, batch)
    return total


def _parts(rows: Float[Tensor, "row q"], cells: int) -> Iterator[slice]:
    """The queries that any row reads, in blocks; `cells` is what one query takes in all heads."""
    read = rows.any(dim=0).nonzero()
    if not len(read):
        return
    first, stop = int(read[0]), int(read[-1]) + 1
    size = max(BLOCK_CELLS // cells, 1)
    for start in range(first, stop, size):
        yield slice(start, min(start + size, stop))
