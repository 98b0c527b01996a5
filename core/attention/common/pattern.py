"""Patterns: which pairs of positions a sparse mechanism computes, and softmax over them.

Source: Child et al. 2019, section 4, https://arxiv.org/abs/1904.10509

A pattern is cut into pieces: queries side by side, and the keys that any of them attends to. Pieces
of one shape go through PyTorch's attention together, as a batch: pairs that are left out are never
computed, and the cores need not meet after every piece.

Queries and keys are counted from the same first position: query i stands beside key i. Where there
are more queries than keys, the late ones may therefore attend to nothing, and give zeros.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float, Int
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import Mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern_pieces import Heads, Order, Piece, gathered, places, stacked
from core.attention.common.separable import blocks
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.softmax import softmax_weights
from core.attention.common.visibility import (
    Pairs,
    Positions,
    as_bias,
    causal,
    limited,
    zero_fully_masked,
)

TOGETHER = 32  # pieces in a batch: more would take memory and no less time


@runtime_checkable
class Pattern(Protocol):
    """Which query attends to which key, whatever the mask and causality then hide."""

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """Every query once, in order; no piece is without keys."""
        ...

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where a query attends to a key; both by position, of `length` keys in all."""
        ...


def sparse(pattern: Pattern, *, name: str, title: str, source: str, cost: str) -> Mechanism:
    """The mechanism that is softmax attention over the pairs of a pattern."""
    return Mechanism(
        name=name,
        title=title,
        source=source,
        exact=False,
        cost=cost,
        attend_kernel=partial(attend, pattern),
        weights_kernel=partial(weights, pattern),
        has_dropout=False,
    )


def attend(
    pattern: Pattern, inputs: AttentionInputs, order: Order | None = None
) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax over the pairs of the pattern, piece by piece.

    Args:
        pattern: the pairs.
        inputs: of one call.
        order: in which the pieces are counted; by position where it is None.
    """
    if inputs.is_empty:
        return inputs.zeros()
    _, _, q, k = inputs.shape
    call, device = _Call(pattern, inputs, order), inputs.query.device
    together = list(batches(pattern.pieces(q, k, inputs.is_causal)))
    output = torch.cat([call.output(pieces) for pieces in together], dim=2)
    rows = torch.cat([places(pieces, order, device)[0].flatten() for pieces in together])
    return output if bool((rows.diff() > 0).all()) else output[:, :, rows.argsort()]


@dataclass(frozen=True)
class _Call:
    """One call, of which each piece takes its part."""

    pattern: Pattern
    inputs: AttentionInputs
    order: Order | None

    def output(self, pieces: list[Piece]) -> Heads:
        """The outputs of alike pieces, one after another."""
        inputs = self.inputs
        rows, columns = places(pieces, self.order, inputs.query.device)
        mask = None if inputs.mask is None else _mask_of(inputs.mask, rows, columns)
        # Alike pieces hide the same pairs.
        mask = limited(mask, self.visible(rows[:1, :, None], columns[:1, None])[:, None])
        if self.order is None:
            query = stacked(inputs.query, [(piece.queries,) for piece in pieces])
            runs = [piece.keys for piece in pieces]
            own = (stacked(each, runs) for each in (inputs.key, inputs.value))
        else:
            query = gathered(inputs.query, rows)
            own = (gathered(each, columns) for each in (inputs.key, inputs.value))
        own = (expand_kv_heads(each, inputs.query.shape[1]) for each in own)
        output = _softmax(query, *own, mask, inputs.scale)
        return output.unflatten(0, (-1, len(pieces))).transpose(1, 2).flatten(2, 3)

    def visible(self, rows: Positions, columns: Positions) -> Pairs:
        """True where the pattern and causality let a query attend; by position."""
        visible = self.pattern.visible(rows, columns, self.inputs.key.shape[2])
        return visible & causal(rows, columns) if self.inputs.is_causal else visible


def weights(pattern: Pattern, inputs: AttentionInputs) -> Float[Tensor, "batch head q k"]:
    """The matrix of the pattern, in float32 at least; a row with no allowed key is all zeros."""
    _, _, q, k = inputs.shape
    device = inputs.query.device
    rows = torch.arange(q, device=device) if inputs.positions is None else inputs.positions
    visible = pattern.visible(rows[:, None], torch.arange(k, device=device)[None], k)
    mask = limited(inputs.limits(), visible)
    return softmax_weights(replace(inputs, mask=mask, is_causal=False))


def batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """The pieces, some that keep the same pairs at a time."""
    alike: defaultdict[tuple[int, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        keys = sum(run.stop - run.start for run in piece.keys)
        alike[piece.queries.stop - piece.queries.start, keys, *piece.pairs].append(piece)
    for same in alike.values():
        for part in blocks(len(same), TOGETHER):
            yield same[part]


def _mask_of(mask: Mask, rows: Int[Tensor, "piece q"], columns: Int[Tensor, "piece k"]) -> Mask:
    """The part of the mask that each piece needs: batch and pieces, head, q, k."""
    mask = mask[(None,) * (4 - mask.ndim)]
    rows = rows if mask.shape[-2] > 1 else rows[:, :1] * 0
    columns = columns if mask.shape[-1] > 1 else columns[:, :1] * 0
    return mask[:, :, rows[..., None], columns[:, None]].transpose(1, 2)


def _softmax(query: Heads, key: Heads, value: Heads, mask: Mask, scale: float) -> Heads:
    """Softmax attention by PyTorch's kernel, zeros where a query has no allowed key."""
    mask = mask if mask.dtype == torch.bool else as_bias(mask, query.dtype)
    if mask.ndim == 5:  # batch, piece, head, q, k
        mask = mask.expand(len(query) // mask.shape[1], *mask.shape[1:]).flatten(0, 1)

    def kernel(mask: Mask) -> Heads:
        all_visible = mask.dtype == torch.bool and bool(mask.all())
        return F.scaled_dot_product_attention(
            query, key, value, attn_mask=None if all_visible else mask, scale=scale
        )

    return zero_fully_masked(kernel, mask, check_first=True)
