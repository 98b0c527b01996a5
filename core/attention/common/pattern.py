"""Patterns: which pairs of positions a sparse mechanism keeps, and softmax attention over them.

Source: Child et al. 2019, section 4, https://arxiv.org/abs/1904.10509

A pattern is cut into pieces: queries side by side, and the keys that any of them looks at. Pieces
of one shape go through PyTorch's attention together, as a batch: pairs that are left out are never
computed, and the cores need not meet after every piece.

Queries and keys are counted from the same first position: query i stands beside key i. Where there
are more queries than keys, the late ones may therefore look at nothing, and give zeros.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.attention import standard
from core.attention.common.masks import Mask, allowed, check_mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern_pieces import Heads, Order, Piece, gathered, places, stacked
from core.attention.common.separable import blocks, refuse_dropout
from core.attention.common.shapes import expand_kv_heads, group_size

TOGETHER = 32  # pieces in a batch: more would take memory and no less time

Positions = Int[Tensor, "*#pairs"]  # of queries `... q 1`, of keys `... 1 k`: they broadcast
Pairs = Bool[Tensor, "*#pairs"]


@runtime_checkable
class Pattern(Protocol):
    """Which query looks at which key, whatever the mask and causality then hide."""

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """Every query once, in order; no piece is without keys."""
        ...

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where a query looks at a key; both by position, of `length` keys in all."""
        ...


def sparse(pattern: Pattern, *, name: str, title: str, source: str, cost: str) -> Mechanism:
    """The mechanism that is softmax attention over the pairs of a pattern."""
    return Mechanism(
        name=name,
        title=title,
        source=source,
        exact=False,
        cost=cost,
        attend=partial(attend, name, pattern),
        weights=partial(weights, pattern),
        has_dropout=False,
        positional=True,
    )


def attend(
    name: str,
    pattern: Pattern,
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
    order: Order | None = None,
) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax over the pairs of the pattern, piece by piece.

    Args:
        name: of the mechanism.
        pattern: the pairs.
        query: all queries.
        key: all keys.
        value: all values.
        mask: hides pairs, or is added to their scores.
        is_causal: top-left, by position.
        scale: of the scores; one over the root of dim where it is None.
        dropout_p: 0, as no weights are made.
        order: in which the pieces are counted; by position where it is None.

    Raises:
        MechanismError: for dropout.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout(name, dropout_p)
    group_size(query.shape[1], key.shape[1])
    if mask is not None:
        check_mask(mask, (*query.shape[:3], key.shape[2]))
    if not (query.numel() and key.numel() and value.numel()):
        return query.new_zeros(*query.shape[:3], value.shape[-1])
    call = _Call(pattern, query, key, value, mask, is_causal, scale, order)
    together = list(batches(pattern.pieces(query.shape[2], key.shape[2], is_causal)))
    output = torch.cat([call.output(pieces) for pieces in together], dim=2)
    stand = torch.cat([places(pieces, order, query.device)[0].flatten() for pieces in together])
    return output if bool((stand.diff() > 0).all()) else output[:, :, stand.argsort()]


@dataclass(frozen=True)
class _Call:
    """The inputs of one call, of which each piece takes its own."""

    pattern: Pattern
    query: Float[Tensor, "batch head q dim"]
    key: Float[Tensor, "batch kv_head k dim"]
    value: Float[Tensor, "batch kv_head k value_dim"]
    mask: Mask | None
    is_causal: bool
    scale: float | None
    order: Order | None

    def output(self, pieces: list[Piece]) -> Heads:
        """The outputs of alike pieces, one after another."""
        rows, columns = places(pieces, self.order, self.query.device)
        k = self.key.shape[2]
        visible = _visible(self.pattern, rows[:1, :, None], columns[:1, None], k, self.is_causal)
        mask = None if self.mask is None else _mask_of(self.mask, rows, columns)
        if self.order is None:
            looking = stacked(self.query, [(piece.queries,) for piece in pieces])
            runs = [piece.keys for piece in pieces]
            own = (stacked(each, runs) for each in (self.key, self.value))
        else:
            looking = gathered(self.query, rows)
            own = (gathered(each, columns) for each in (self.key, self.value))
        own = (expand_kv_heads(each, self.query.shape[1]) for each in own)
        output = _softmax(looking, *own, _limited(mask, visible[:, None]), self.scale)
        return output.unflatten(0, (-1, len(pieces))).transpose(1, 2).flatten(2, 3)


def weights(
    pattern: Pattern,
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    positions: Int[Tensor, " q"] | None = None,
) -> Float[Tensor, "batch head q k"]:
    """The matrix of the pattern, in float32 at least; a row with no allowed key is all zeros.

    Args:
        query: all queries, or some of them with their positions.
        key: all keys.
        mask: of these queries.
        is_causal: top-left, by position.
        scale: of the scores; one over the root of dim where it is None.
        positions: where these queries stand; 0, 1, 2... where it is None.

    Raises:
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    q, k = query.shape[2], key.shape[2]
    if mask is not None:
        check_mask(mask, (*query.shape[:3], k))
    rows = torch.arange(q, device=query.device) if positions is None else positions
    columns = torch.arange(k, device=query.device)
    seen = _limited(mask, _visible(pattern, rows[:, None], columns[None], k, is_causal))
    return standard.weights(query, key, mask=seen, scale=scale)


def batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """The pieces, some that keep the same pairs at a time."""
    alike: defaultdict[tuple[int, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        keys = sum(run.stop - run.start for run in piece.keys)
        alike[piece.queries.stop - piece.queries.start, keys, *piece.pairs].append(piece)
    for same in alike.values():
        for part in blocks(len(same), TOGETHER):
            yield same[part]


def _visible(
    pattern: Pattern, rows: Positions, columns: Positions, length: int, is_causal: bool
) -> Pairs:
    visible = pattern.visible(rows, columns, length)
    return visible & (columns <= rows) if is_causal else visible


def _mask_of(mask: Mask, rows: Int[Tensor, "piece q"], columns: Int[Tensor, "piece k"]) -> Mask:
    """The part of the mask that each piece needs: batch and pieces, head, q, k."""
    mask = mask[(None,) * (4 - mask.ndim)]
    rows = rows if mask.shape[-2] > 1 else rows[:, :1] * 0
    columns = columns if mask.shape[-1] > 1 else columns[:, :1] * 0
    return mask[:, :, rows[..., None], columns[:, None]].transpose(1, 2)


def _limited(mask: Mask | None, visible: Pairs) -> Mask:
    """The mask, and nothing else than what is visible."""
    if mask is None:
        return visible
    if mask.dtype == torch.bool:
        return mask & visible
    return mask.masked_fill(~(allowed(mask) & visible), -torch.inf)


def _softmax(query: Heads, key: Heads, value: Heads, seen: Mask, scale: float | None) -> Heads:
    """Softmax attention by PyTorch's kernel, zeros where a row sees nothing."""
    if seen.dtype != torch.bool:
        seen = seen.to(query.dtype)
    if seen.ndim == 5:  # batch, piece, head, q, k
        seen = seen.expand(len(query) // seen.shape[1], *seen.shape[1:]).flatten(0, 1)
    blind = ~allowed(seen).any(dim=-1, keepdim=True)
    some_blind = bool(blind.any())
    # Kernels differ on a row with no allowed key (zeros or NaN): none gets to see one.
    if some_blind:
        seen = seen.masked_fill(blind, 1 if seen.dtype == torch.bool else 0)
    whole = seen.dtype == torch.bool and bool(seen.all())
    output = F.scaled_dot_product_attention(
        query, key, value, attn_mask=None if whole else seen, scale=scale
    )
    return output.masked_fill(blind, 0) if some_blind else output
