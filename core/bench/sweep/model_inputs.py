"""Taken: q, k and v of a chosen layer, out of one forward pass of a real model."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch

from core.bench.sweep.plan import Origin, Plan
from core.capture import capture
from core.capture.trace import AttentionCall
from core.errors import InputError
from core.models.model import Model, memory_explained
from core.models.run import Prepared
from core.models.vision.images import Picture
from core.types import Position

LETTERS = 80  # of a text, by which its results are named


@dataclass(frozen=True)
class ModelCall:
    """One attention call with its v, and where it comes from."""

    call: AttentionCall
    origin: Origin
    positions: tuple[Position, ...]  # one a query, and as many keys
    layers: int  # that could have been chosen
    notes: tuple[str, ...]  # of the preparation

    @property
    def nbytes(self) -> int:
        """Bytes of its tensors."""
        call = self.call
        tensors = (call.query, call.key, call.value, call.mask)
        return sum(tensor.nbytes for tensor in tensors if tensor is not None)

    def plan(self, plan: Plan) -> Plan:
        """The same plan on these tensors: their sizes and precision take the place of its own."""
        batch, heads, length, dim = self.call.query.shape
        return replace(
            plan, lengths=(length,), batch=batch, heads=heads, dim=dim,
            precision=str(self.call.query.dtype).removeprefix("torch."),
            causal=self.call.is_causal, device=str(self.call.query.device), origin=self.origin,
        )  # fmt: skip


class _EnoughError(Exception):
    """The layer has been seen; the model need not go on."""


def record_call(
    model: Model,
    inputs: str | Picture,
    layer: int,
    *,
    on_call: Callable[[float], None] | None = None,
) -> ModelCall:
    """q, k and v of a layer of the model's first group of calls, for one text or picture.

    Args:
        model: the model that reads it.
        inputs: a text, or a picture.
        layer: counted from 0.
        on_call: told the share that is done, 0 to 1; may raise to stop.

    Raises:
        InputError: if the input, the layer or the memory does not allow it, or the model computes
            attention by itself.
    """
    prepared = model.prepare(inputs)
    group = prepared.groups[0]
    if not 0 <= layer < len(group.calls):
        raise InputError(
            f"'{model.name}': a layer from 0 to {len(group.calls) - 1} was wanted; {layer} came."
        )
    call = _recorded(model, prepared, group.calls[layer], on_call)
    queries, keys = call.query.shape[2], call.key.shape[2]
    if queries != keys or queries != len(group.queries[0]):
        raise InputError(
            f"Layer {layer} of '{model.name}' attends from {queries:,} to {keys:,} positions: "
            "only a layer that sees its whole input at once can be measured."
        )
    origin = _origin(model, inputs, layer, call)
    return ModelCall(call, origin, group.queries[0], len(group.calls), prepared.notes)


def _recorded(
    model: Model,
    prepared: Prepared,
    index: int,
    on_call: Callable[[float], None] | None,
) -> AttentionCall:
    """One call of the forward pass, which ends there; the calls before it are let go."""

    def tell(count: int) -> None:
        if count > index:
            raise _EnoughError
        trace.calls.clear()
        if on_call is not None:
            on_call(count / (index + 1))

    try:
        with torch.inference_mode(), memory_explained(model.name):
            how = {"grid": prepared.grid, "value_of": index, "on_call": tell}
            with capture(**how) as trace:
                model.forward(prepared)
    except _EnoughError:
        return trace.calls[0]
    raise InputError(
        f"'{model.name}' computes attention by itself and never calls "
        "scaled_dot_product_attention, so its q, k and v cannot be had."
    )


def _origin(model: Model, inputs: str | Picture, layer: int, call: AttentionCall) -> Origin:
    is_text = isinstance(inputs, str)
    content = inputs.encode("utf-8", "replace") if is_text else inputs.pixels.tobytes()
    label = " ".join(inputs.split()) if is_text else inputs.name
    return Origin(
        model=model.name,
        layer=layer,
        kind="sentence" if is_text else "picture",
        label=label if len(label) <= LETTERS else f"{label[: LETTERS - 1]}…",
        digest=hashlib.sha256(content).hexdigest(),
        kv_heads=call.key.shape[1],
        value_dim=call.value.shape[-1],
        masked=call.mask is not None,
    )
