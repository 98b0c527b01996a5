"""What both towers of a CLIP share: a run, and groups made of the attention calls that ran."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import nn

from core.capture import capture
from core.capture.trace import AttentionCall
from core.errors import InputError
from core.models.model import Model
from core.models.run import Run
from core.types import Group, Position

POOL = "attention pool"
PACKAGE = "open_clip_torch"


class Attended(NamedTuple):
    """One attention call of a single item: how many positions look, and are looked at."""

    queries: int
    keys: int


class Tower(Model):
    """One half of an open_clip model; `module` is the whole."""

    side: str  # 'image' or 'text', for sentences
    mapped: bool  # can its attention be shown?

    def __init__(
        self,
        module: nn.Module,
        name: str,
        title: str,
        device: torch.device,
        dtype: torch.dtype,
    ) -> None:
        """Wrap one side of a module that is on its device and in its precision already."""
        self.module, self.name, self.title = module, name, title
        self.device, self.dtype = device, dtype

    def run(
        self,
        inputs: Any,
        mechanism: str | None = None,
        *,
        on_call: Callable[[float], None] | None = None,
    ) -> Run:
        """One forward pass with every attention call recorded and verified; see `Model.run`.

        Raises:
            InputError: also if this tower has no attention that can be shown.
        """
        if not self.mapped:
            raise InputError(
                f"The {self.side} tower of '{self.name}' has no attention over one grid of "
                "positions (a convolutional network has none, some attend inside windows), so "
                "there are no maps of it; its labels and scores work all the same."
            )
        return super().run(inputs, mechanism, on_call=on_call)


def attended(forward: Callable[[], Any]) -> tuple[Attended, ...] | None:
    """The attention calls of one forward pass of a single item; None if it attends in windows."""
    with torch.inference_mode(), capture() as trace:
        forward()
    if any(call.query.shape[0] != 1 for call in trace.calls):
        return None
    return tuple(map(_attended, trace.calls))


def groups(
    calls: Sequence[Attended], positions: tuple[Position, ...], batch: int
) -> tuple[Group, ...]:
    """Calls as groups: self-attention over all positions first, then each attention pool.

    Empty if a call is over other positions than these.
    """
    own = [index for index, call in enumerate(calls) if call == (len(positions),) * 2]
    pools = [index for index in range(len(calls)) if index not in own]
    found = [_group("self-attention", tuple(own), positions, positions, batch)] if own else []
    for index in pools:
        keys = _pool_keys(calls[index].keys, positions)
        if keys is None or index < max(own, default=0):
            return ()
        queries = _pool_queries(calls[index], keys)
        found.append(_group(POOL, (index,), queries, keys, batch))
    return tuple(found)


def _attended(call: AttentionCall) -> Attended:
    return Attended(call.query.shape[2], call.key.shape[2])


def _group(
    name: str,
    calls: tuple[int, ...],
    queries: tuple[Position, ...],
    keys: tuple[Position, ...],
    batch: int,
) -> Group:
    starts = (0,) * batch
    return Group(name, calls, (queries,) * batch, (keys,) * batch, starts, starts)


def _pool_keys(count: int, positions: tuple[Position, ...]) -> tuple[Position, ...] | None:
    """Whom a pool looks at: all positions, the patches, or their mean and the patches."""
    patches = tuple(position for position in positions if position.patch is not None)
    choices = (positions, patches, (Position("mean", special=True), *patches))
    return next((keys for keys in choices if len(keys) == count), None)


def _pool_queries(call: Attended, keys: tuple[Position, ...]) -> tuple[Position, ...]:
    """Who looks: the pool's own queries, or (where every key looks too) the first for the pool."""
    if call.queries == call.keys:
        return (Position("pool query", special=True), *keys[1:])
    if call.queries == 1:
        return (Position("pool query", special=True),)
    return tuple(Position(f"pool query {n}", special=True) for n in range(call.queries))
