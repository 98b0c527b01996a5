"""Weights: rows of a recorded call as its mechanism attended, and how well they explain it."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from core.attention import MECHANISMS
from core.attention.common.masks import Mask, allowed
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.visibility import causal, limited, part_of
from core.capture.trace import AttentionCall

# Rows are made in blocks of about this many cells, 8 MB: small enough for the last cache between
# product and softmax, large enough that the cores seldom wait for each other.
BLOCK_CELLS = 1 << 21
Sequences = slice | list[int]  # which of a batch, as the model attended to them


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
        mask = part_of(mask, queries)
    device = call.query.device
    if call.windows is not None:
        windows = torch.arange(call.query.shape[0])[sequences] % call.windows.count
        # Models add a large negative number where patches of opposite edges meet: nearly nothing.
        mask = limited(mask, call.windows.inside(windows)[:, None, queries].to(device))
    if call.is_causal:
        keys = torch.arange(call.key.shape[2], device=device)
        mask = limited(mask, causal(positions_of(call, queries)[:, None], keys)[None, None])
    return mask


def positions_of(call: AttentionCall, queries: slice) -> Int[Tensor, " q"]:
    """Where some queries stand among all of their sequence."""
    return torch.arange(call.query.shape[2], device=call.query.device)[queries]


def allowed_rows(call: AttentionCall, head: int, queries: slice, batch: int) -> Bool[Tensor, "q k"]:
    """True where some queries of a head may attend."""
    rows = range(call.queries)[queries]
    if call.windows is not None:
        return call.windows.visible(rows)
    mask = mask_rows(call, slice(head, head + 1), queries, slice(batch, batch + 1))
    if mask is None:
        return torch.ones(len(rows), call.keys, dtype=torch.bool)
    return allowed(mask)[0, 0].expand(len(rows), call.keys)


def weights_of(
    call: AttentionCall, heads: slice, queries: slice, batch: int
) -> Float[Tensor, "head q k"]:
    """Some rows of some heads, by the mechanism that the call was routed through."""
    if call.windows is not None:
        return stitched(call, heads, queries, batch)
    return sequence_weights(call, heads, queries, slice(batch, batch + 1))[0]


def stitched(
    call: AttentionCall, heads: slice, queries: slice, batch: int, into: Tensor | None = None
) -> Float[Tensor, "head q k"]:
    """Some rows of a windowed call; 0 outside of the windows, as in `into`."""
    positions = range(call.queries)[queries]
    windows = call.windows.around(positions)
    weights = window_weights(call, heads, windows, batch)
    order = call.windows.order[windows]
    inside = (order >= positions.start) & (order < positions.stop)
    window, slot = inside.nonzero(as_tuple=True)
    rows = weights.new_zeros(weights.shape[1], len(positions), call.keys) if into is None else into
    q = order[window, slot] - positions.start
    rows[:, q[:, None], order[window]] = weights[window, :, slot].transpose(0, 1)
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
    """Some rows of some sequences as the model attended to them: full ones, or windows."""
    if call.model_weights is not None:
        return call.model_weights[:, heads, queries][sequences].float()
    shared = slice(None)
    if heads != slice(None):  # one head: only the kv head that it reads
        shared = slice(call.kv_head(heads.start), call.kv_head(heads.start) + 1)
    weights = MECHANISMS[call.mechanism or "standard"].weights(
        call.query[:, heads, queries][sequences],
        call.key[:, shared][sequences],
        mask=mask_rows(call, heads, queries, sequences),
        scale=call.scale,
        positions=positions_of(call, queries),
        grid=call.grid,
    )
    return weights.float()


def verify(call: AttentionCall, rows: int | None = None) -> float:
    """The largest difference between weights @ v, from q and k, and what the kernel gave.

    Rows with no allowed key are left out: libraries disagree on what they hold. NaN if the kernel
    gave NaN. Windows are checked one by one, as the model computed them.

    Args:
        call: one that still has its value and output.
        rows: how many evenly spread query rows to check; None checks all.

    Raises:
        ValueError: if the call no longer holds value and output.
    """
    if call.value is None or call.output is None:
        raise ValueError("a call recorded with its value and output was wanted; one without came")
    call = replace(call, windows=None)
    length = call.query.shape[2]
    checked = slice(0, length, 1 if rows is None else max(1, length // rows))
    worst = []
    # Many short sequences, such as windows, are checked at once.
    size = max(1, BLOCK_CELLS // (call.heads * len(range(length)[checked]) * call.keys))
    for start in range(0, call.query.shape[0], size):
        some = slice(start, start + size)
        weights = sequence_weights(call, slice(None), checked, some)
        value = expand_kv_heads(call.value[some].float(), call.heads)
        gap = (weights @ value - call.output[some, :, checked].float()).abs()
        gap[weights.sum(dim=-1) == 0] = 0.0
        worst.append(gap.max())
    return torch.stack(worst).max().item()  # torch's maximum, unlike Python's, keeps NaN
