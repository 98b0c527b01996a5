"""Weights: rows of a recorded call as its mechanism attended, and how well they explain it."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from core.attention import MECHANISMS
from core.attention.attend import placed
from core.attention.common.masks import Mask, allowed
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
        return stitched(call, heads, queries, batch)
    return sequence_weights(call, heads, queries, slice(batch, batch + 1))[0]


def stitched(
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
        value = call.value[some].float()
        value = value.repeat_interleave(call.heads // value.shape[1], dim=1)
        gap = (weights @ value - call.output[some, :, checked].float()).abs()
        gap[weights.sum(dim=-1) == 0] = 0.0
        worst.append(gap.max())
    return torch.stack(worst).max().item()  # torch's maximum, unlike Python's, keeps NaN
