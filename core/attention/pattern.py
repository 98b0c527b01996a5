"""Patterns: which pairs of positions a sparse mechanism keeps, and softmax attention over them.

Source: Child et al. 2019, section 4, https://arxiv.org/abs/1904.10509

A pattern is cut into pieces: queries side by side, and the keys that any of them looks at. Pieces
of one shape go through PyTorch's attention together, as a batch: pairs that are left out are never
computed, and the cores need not meet after every piece.

Queries and keys are counted from the same first position: query i stands beside key i. Where there
are more queries than keys, the late ones may therefore look at nothing, and give zeros.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol, runtime_checkable

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.attention import standard
from core.attention.masks import Mask, allowed, check_mask
from core.attention.mechanism import Mechanism
from core.attention.separable import blocks, refuse_dropout
from core.attention.shapes import expand_kv_heads, group_size

TOGETHER = 32  # pieces in a batch: more would take memory and no less time

Heads = Float[Tensor, "batch _heads _positions _dim"]
Positions = Int[Tensor, "*#pairs"]  # of queries `... q 1`, of keys `... 1 k`: they broadcast
Pairs = Bool[Tensor, "*#pairs"]


class Piece(NamedTuple):
    """Queries side by side, and all the keys that any of them may look at: runs in order."""

    queries: slice
    keys: tuple[slice, ...]
    pairs: tuple[int, ...]  # where these agree, so do the pairs of pieces of one shape


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
        attend=partial(_attend, name, pattern),
        weights=partial(_weights, pattern),
        has_dropout=False,
        positional=True,
    )


def joined(runs: Iterable[slice]) -> tuple[slice, ...]:
    """The same positions in order, each once; empty runs fall away."""
    whole: list[slice] = []
    for run in sorted(runs, key=lambda run: run.start):
        if run.start >= run.stop:
            continue
        if whole and run.start <= whole[-1].stop:
            whole[-1] = slice(whole[-1].start, max(whole[-1].stop, run.stop))
        else:
            whole.append(run)
    return tuple(whole)


def _attend(
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
) -> Float[Tensor, "batch head q value_dim"]:
    """Softmax over the pairs of the pattern, piece by piece.

    Raises:
        MechanismError: for dropout.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout(name, dropout_p)
    (_, heads, q, _), k = query.shape, key.shape[2]
    group_size(heads, key.shape[1])
    if mask is not None:
        check_mask(mask, (*query.shape[:3], k))
    if not (query.numel() and key.numel() and value.numel()):
        return query.new_zeros(*query.shape[:3], value.shape[-1])
    batches = list(_batches(pattern.pieces(q, k, is_causal)))
    outputs = []
    for pieces in batches:
        rows, columns = _places(pieces, query.device)
        visible = _visible(pattern, rows[:1, :, None], columns[:1, None], k, is_causal)
        seen = _limited(None if mask is None else _mask_of(mask, rows, columns), visible[:, None])
        looking = _stacked(query, [(piece.queries,) for piece in pieces])
        runs = [piece.keys for piece in pieces]
        own = (expand_kv_heads(_stacked(each, runs), heads) for each in (key, value))
        output = _softmax(looking, *own, seen, scale)
        outputs.append(output.unflatten(0, (-1, len(pieces))).transpose(1, 2).flatten(2, 3))
    output = torch.cat(outputs, dim=2)
    order = torch.cat([_places(pieces, query.device)[0].flatten() for pieces in batches])
    return output if bool((order.diff() > 0).all()) else output[:, :, order.argsort()]


def _weights(
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


def _batches(pieces: Iterator[Piece]) -> Iterator[list[Piece]]:
    """The pieces, some that keep the same pairs at a time."""
    alike: defaultdict[tuple[int, ...], list[Piece]] = defaultdict(list)
    for piece in pieces:
        keys = sum(run.stop - run.start for run in piece.keys)
        alike[piece.queries.stop - piece.queries.start, keys, *piece.pairs].append(piece)
    for same in alike.values():
        for part in blocks(len(same), TOGETHER):
            yield same[part]


def _places(
    pieces: list[Piece], device: torch.device
) -> tuple[Int[Tensor, "piece q"], Int[Tensor, "piece k"]]:
    """The positions of the queries and of the keys of each piece."""
    last = max(max(piece.queries.stop, piece.keys[-1].stop) for piece in pieces)
    every = torch.arange(last, device=device, dtype=torch.int32)
    rows = torch.stack([every[piece.queries] for piece in pieces])
    return rows, torch.stack([_taken(every, piece.keys, dim=0) for piece in pieces])


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


def _stacked(tensor: Heads, runs: list[tuple[slice, ...]]) -> Float[Tensor, "batch_piece _h _p _d"]:
    """The positions that each piece needs, as a batch of pieces within that of sequences."""
    even = len({len(each) for each in runs}) == 1 < len(runs)
    if even and all(_spacing(each) is not None for each in zip(*runs, strict=True)):
        parts = [_spaced(tensor, each) for each in zip(*runs, strict=True)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=3)).flatten(0, 1)
    return torch.stack([_taken(tensor, each, dim=2) for each in runs], dim=1).flatten(0, 1)


def _spacing(runs: tuple[slice, ...]) -> int | None:
    """How far runs of one length are apart; None where they are not evenly spaced."""
    lengths = {run.stop - run.start for run in runs}
    steps = {after.start - before.start for before, after in pairwise(runs)}
    return min(steps) if len(lengths) == len(steps) == 1 and min(steps) >= 0 else None


def _spaced(tensor: Heads, runs: tuple[slice, ...]) -> Float[Tensor, "batch piece _h _p _d"]:
    """Evenly spaced runs as a view: nothing is copied where they overlap."""
    step, (first, *_, last) = _spacing(runs), runs
    if step == 0:
        return tensor[:, None, :, first].expand(-1, len(runs), -1, -1, -1)
    whole = tensor[:, :, first.start : last.stop]
    return whole.unfold(2, first.stop - first.start, step).permute(0, 2, 1, 4, 3)


def _taken(tensor: Tensor, runs: tuple[slice, ...], dim: int) -> Tensor:
    """The runs of an axis, side by side; a view where there is one run."""
    parts = [tensor.narrow(dim, run.start, run.stop - run.start) for run in runs]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=dim)
