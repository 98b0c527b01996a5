"""Pieces: queries, the keys that any of them attends to, and how both become a batch.

A piece is made of runs of positions. Where what belongs together does not stand side by side, as in
a window of a picture, a pattern gives an order in which it does, and its pieces are runs in that.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

Heads = Float[Tensor, "batch _heads _positions _dim"]
Stacked = Float[Tensor, "batch_piece _heads _places _dim"]


class Piece(NamedTuple):
    """Queries side by side, and all the keys that any of them may attend to: runs in order."""

    queries: slice
    keys: tuple[slice, ...]
    pairs: tuple[int, ...]  # where these agree, so do the pairs of pieces of one shape


class Order(NamedTuple):
    """Every position once, in the order in which the runs of pieces are counted."""

    queries: Int[Tensor, " q"]
    keys: Int[Tensor, " k"]


def joined(runs: Iterable[slice]) -> tuple[slice, ...]:
    """The same positions in order, each once; empty runs fall away."""
    merged: list[slice] = []
    for run in sorted(runs, key=lambda run: run.start):
        if run.start >= run.stop:
            continue
        if merged and run.start <= merged[-1].stop:
            merged[-1] = slice(merged[-1].start, max(merged[-1].stop, run.stop))
        else:
            merged.append(run)
    return tuple(merged)


def places(
    pieces: list[Piece], order: Order | None, device: torch.device
) -> tuple[Int[Tensor, "piece q"], Int[Tensor, "piece k"]]:
    """The positions of the queries and of the keys of each piece."""
    last = max(max(piece.queries.stop, piece.keys[-1].stop) for piece in pieces)
    every = torch.arange(last, device=device, dtype=torch.int32)
    rows = torch.stack([every[piece.queries] for piece in pieces])
    columns = torch.stack([_taken(every, piece.keys, dim=0) for piece in pieces])
    return (rows, columns) if order is None else (order.queries[rows], order.keys[columns])


def gathered(tensor: Heads, of_pieces: Int[Tensor, "piece places"]) -> Stacked:
    """The positions that each piece needs, wherever they stand, as a batch of pieces."""
    taken = tensor.index_select(2, of_pieces.flatten()).unflatten(2, of_pieces.shape)
    return taken.transpose(1, 2).flatten(0, 1)


def stacked(tensor: Heads, runs: list[tuple[slice, ...]]) -> Stacked:
    """The runs that each piece needs, as a batch of pieces: a view where it can be one."""
    if len(runs) == 1:
        return _taken(tensor, runs[0], dim=2)
    if are_even(runs):
        parts = [_spaced(tensor, each) for each in zip(*runs, strict=True)]
        return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=3)).flatten(0, 1)
    return torch.stack([_taken(tensor, each, dim=2) for each in runs], dim=1).flatten(0, 1)


def are_even(runs: list[tuple[slice, ...]]) -> bool:
    """Are the first runs of all pieces evenly spaced, and the second ones, and so on?"""
    alike = len({len(each) for each in runs}) == 1 < len(runs)
    return alike and all(_spacing(each) is not None for each in zip(*runs, strict=True))


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
    covered = tensor[:, :, first.start : last.stop]
    return covered.unfold(2, first.stop - first.start, step).permute(0, 2, 1, 4, 3)


def _taken(tensor: Tensor, runs: tuple[slice, ...], dim: int) -> Tensor:
    """The runs of an axis, side by side; a view where there is one run."""
    parts = [tensor.narrow(dim, run.start, run.stop - run.start) for run in runs]
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=dim)
