"""Blocks: some rows of a head's map at a time, so that no map need ever be whole."""

from collections.abc import Callable, Iterator
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from core.attention import MECHANISMS
from core.attention.attend import placed
from core.attention.masks import Mask, allowed, masked_softmax
from core.trace import AttentionCall

# Rows are made in blocks of about this many cells, 8 MB: small enough for the last cache between
# product and softmax, large enough that the cores seldom wait for each other.
BLOCK_CELLS = 1 << 21

Sequences = slice | list[int]  # which of a batch, as the model attended to them


def check_index(call: AttentionCall, head: int, batch: int, q: int = 0, k: int = 0) -> None:
    """Refuse an index that the call does not have."""
    for name, index, size in (
        ("head", head, call.heads),
        ("batch", batch, call.batch),
        ("q", q, call.queries),
        ("k", k, call.keys),
    ):
        if not 0 <= index < size:
            raise ValueError(f"{name} from 0 to {size - 1} was wanted; {index} came")


def mask_rows(
    call: AttentionCall, heads: slice, queries: slice, sequences: Sequences
) -> Mask | None:
    """The mask of some rows, causality included; axes `sequence head q k`, each full or 1.

    The sequences of a windowed call are its windows, and the queries their slots.
    """
    mask = call.mask
    if mask is not None:
        mask = mask if mask.shape[0] == 1 else mask[sequences]
        mask = mask if mask.shape[1] == 1 else mask[:, heads]
        mask = mask if mask.shape[2] == 1 else mask[:, :, queries]
    device = call.query.device
    if call.windows is not None:
        windows = torch.arange(call.query.shape[0])[sequences] % call.windows.count
        # Models add a large negative number where patches of opposite edges meet: nearly nothing.
        mask = _both(mask, call.windows.inside(windows)[:, None, queries].to(device))
    if call.is_causal:
        positions = torch.arange(call.query.shape[2], device=device)[queries]
        causal = torch.arange(call.key.shape[2], device=device) <= positions[:, None]
        mask = _both(mask, causal[None, None])
    return mask


def _both(mask: Mask | None, may: Bool[Tensor, "sequence 1 q k"]) -> Mask:
    if mask is None:
        return may
    return mask & may if mask.dtype == torch.bool else mask.masked_fill(~may, -torch.inf)


def allowed_rows(call: AttentionCall, head: int, queries: slice, batch: int) -> Bool[Tensor, "q k"]:
    """True where some queries of a head may look."""
    asked = range(call.queries)[queries]
    if call.windows is not None:
        return call.windows.visible(asked)
    mask = mask_rows(call, slice(head, head + 1), queries, slice(batch, batch + 1))
    if mask is None:
        return torch.ones(len(asked), call.keys, dtype=torch.bool)
    return allowed(mask)[0, 0].expand(len(asked), call.keys)


def weights_of(
    call: AttentionCall, heads: slice, queries: slice, batch: int
) -> Float[Tensor, "head q k"]:
    """Some rows of some heads, by the mechanism that the call was routed through."""
    if call.windows is not None:
        return _stitched(call, heads, queries, batch)
    return sequence_weights(call, heads, queries, slice(batch, batch + 1))[0]


def _stitched(
    call: AttentionCall, heads: slice, queries: slice, batch: int, into: Tensor | None = None
) -> Float[Tensor, "head q k"]:
    """Some rows of a windowed call; 0 outside of the windows, as `into` is where it is given."""
    asked = range(call.queries)[queries]
    windows = call.windows.around(asked)
    weights = window_weights(call, heads, windows, batch)
    seen = call.windows.order[windows]
    window, slot = ((seen >= asked.start) & (seen < asked.stop)).nonzero(as_tuple=True)
    rows = weights.new_zeros(weights.shape[1], len(asked), call.keys) if into is None else into
    q = seen[window, slot] - asked.start
    rows[:, q[:, None], seen[window]] = weights[window, :, slot].transpose(0, 1)
    return rows


def window_weights(
    call: AttentionCall, heads: slice, windows: list[int], batch: int
) -> Float[Tensor, "window head slot slot"]:
    """The maps of some heads inside some windows of a picture."""
    sequences = [batch * call.windows.count + window for window in windows]
    return sequence_weights(call, heads, slice(None), sequences)


def sequence_weights(
    call: AttentionCall, heads: slice, queries: slice, sequences: Sequences
) -> Float[Tensor, "sequence head q k"]:
    """Some rows of some sequences as the model attended to them: whole ones, or windows."""
    if call.given is not None:
        return call.given[:, heads, queries][sequences].float()
    shared = slice(None)
    if heads != slice(None):  # one head: only the kv head that it reads
        shared = slice(call.kv_head(heads.start), call.kv_head(heads.start) + 1)
    mechanism, where = MECHANISMS[call.mechanism or "standard"], {}
    if mechanism.positional:
        positions = torch.arange(call.query.shape[2], device=call.query.device)
        where = {"positions": positions[queries]}
    where |= placed(mechanism, call.grid)
    return mechanism.weights(
        call.query[:, heads, queries][sequences],
        call.key[:, shared][sequences],
        mask=mask_rows(call, heads, queries, sequences),
        scale=call.scale,
        **where,
    ).float()


def head_rows(call: AttentionCall, head: int, queries: slice, batch: int) -> Float[Tensor, "q k"]:
    """Some rows of one head."""
    return weights_of(call, slice(head, head + 1), queries, batch)[0]


def map_blocks(
    call: AttentionCall,
    head: int,
    batch: int,
    *,
    queries: range | None = None,
    multiple: int = 1,
    into: Tensor | None = None,
) -> Iterator[Float[Tensor, "q k"]]:
    """The map of a head in blocks of rows, each a multiple of so many rows (but the last).

    Written into `into`, a zeroed map, where it is given.
    """
    queries = range(call.queries) if queries is None else queries
    size = max(BLOCK_CELLS // call.keys // multiple, 1) * multiple
    whole = call.given is None and call.windows is None
    exact = whole and MECHANISMS[call.mechanism or "standard"].exact
    block = _exact_blocks(call, head, batch) if exact else None
    for start in range(queries.start, queries.stop, size):
        part = slice(start, min(start + size, queries.stop))
        out = None if into is None else into[part]
        if block is not None:
            yield block(part, out)
        elif call.windows is not None:
            into_head = None if out is None else out[None]
            yield _stitched(call, slice(head, head + 1), part, batch, into_head)[0]
        else:
            weights = head_rows(call, head, part, batch)
            yield weights if out is None else out.copy_(weights)


def _exact_blocks(
    call: AttentionCall, head: int, batch: int
) -> Callable[[slice, Tensor | None], Float[Tensor, "q k"]]:
    """A function that makes rows of softmax attention; what all rows share is done once here."""
    query = call.query[batch, head].float() * call.scale
    key = call.key[batch, call.kv_head(head)].float().T
    k = key.shape[1]

    def block(part: slice, out: Tensor | None) -> Tensor:
        if out is None:
            out = query.new_zeros(part.stop - part.start, k)
        # A top-left causal row sees no key beyond its own position: half of the work falls away.
        seen = min(part.stop, k) if call.is_causal else k
        scores = query[part] @ key[:, :seen]
        if call.mask is not None:
            mask = mask_rows(call, slice(head, head + 1), part, slice(batch, batch + 1))
            mask = mask if mask.shape[-1] == 1 else mask[..., :seen]
            out[:, :seen] = masked_softmax(scores[None, None], mask, is_causal=False)[0, 0]
            return out
        if call.is_causal and part.start < seen:  # only the square on the diagonal has gaps
            square = scores[:, part.start :]
            square.masked_fill_(torch.ones_like(square, dtype=torch.bool).triu(1), -torch.inf)
        torch.softmax(scores, dim=-1, out=out[:, :seen])
        return out

    return block


def pool(
    weights: Float[Tensor, "q k"], q_cell: int, k_cell: int, reduce: Literal["max", "mean"]
) -> Float[Tensor, "q_cell k_cell"]:
    """Cells of q_cell x k_cell weights; the last ones may be smaller."""
    if q_cell == k_cell == 1:
        return weights
    q, k = weights.shape
    padded = F.pad(weights, (0, -k % k_cell, 0, -q % q_cell))
    # Rows first: reducing along whole rows is vectorised, reducing tiny cells at once is not.
    split = padded.unflatten(0, (-1, q_cell))
    if reduce == "max":
        return split.amax(dim=1).unflatten(1, (-1, k_cell)).amax(dim=2)
    sums = split.sum(dim=1).unflatten(1, (-1, k_cell)).sum(dim=2)
    counts = [
        torch.arange(n, device=weights.device).div(cell, rounding_mode="floor").bincount()
        for n, cell in ((q, q_cell), (k, k_cell))
    ]
    return sums / (counts[0][:, None] * counts[1])
