"""Capture: record q, k and mask of every attention call of any model, and route it if asked.

Every fast attention in PyTorch ends in `F.scaled_dot_product_attention`; a TorchFunctionMode sees
that call whatever library made it. No map is computed here: see `core.maps`. The stack of modes is
per thread, so two visitors never see each other's traces.
"""

import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from core.attention import MECHANISMS
from core.attention.attend import attend, attention_weights, check_mechanism
from core.attention.common.grid import Grid
from core.attention.common.masks import Mask
from core.attention.common.mechanism import Mechanism
from core.attention.own import enter
from core.capture.multi_head import MultiHeadCall
from core.capture.route import Route
from core.capture.tensors import detached, four_axes, mask_axes, one_batch
from core.capture.trace import AttentionCall, Trace
from core.capture.weights import verify

KERNELS = {0: "maths", 1: "flash", 2: "memory-efficient", 3: "cuDNN"}
# Elsewhere, on a Mac's GPU for one, torch cannot say which kernel it takes.
ASKED_ON = ("cpu", "cuda", "xpu")


_thread = threading.local()


@contextmanager
def capture(
    mechanism: str | Mechanism | None = None,
    *,
    layers: Collection[int] | None = None,
    grid: Grid | None = None,
    record: bool = True,
    verify_rows: int = 0,
    keep_outputs: bool = False,
    value_of: int | None = None,
    on_call: Callable[[int], None] | None = None,
) -> Iterator[Trace]:
    """Record every attention call made inside the block by this thread.

    The recorded q and k are mostly views of the model's own tensors: a model that changes those in
    place afterwards changes the record.

    Args:
        mechanism: name in MECHANISMS, or a mechanism of your own, that every call is routed to;
            None leaves the kernel alone.
        layers: route only these calls, counted from 0; None routes all.
        grid: how the positions lie in a picture, for mechanisms that attend in two axes.
        record: False only routes, to time a mechanism without recording.
        verify_rows: check that many query rows of each call against softmax(qk)v as it runs.
        keep_outputs: keep v, and the output within its graph: gradients by it are to be taken.
        value_of: keep v of this one call, counted from 0.
        on_call: told the number of calls so far after each one; may raise to stop the model.

    Raises:
        ValueError: if the mechanism is unknown, or a capture is already open in this thread.
    """
    if isinstance(mechanism, Mechanism):
        mechanism = enter(mechanism)
    check_mechanism(mechanism)
    if getattr(_thread, "open", False):
        raise ValueError("a capture is already open in this thread: close it before the next one")
    trace = Trace()
    route = Route(None if mechanism is None else MECHANISMS[mechanism], layers, grid)
    _thread.open = True
    try:
        recorded = _Recorder(trace, route, record, verify_rows, keep_outputs, on_call)
        recorded.value_of = value_of
        with recorded:
            yield trace
    finally:
        _thread.open = False


class _Recorder(TorchFunctionMode):
    """Sees every torch function of its thread; acts on those that attention ends in."""

    def __init__(
        self,
        trace: Trace,
        route: Route,
        record: bool,
        verify_rows: int,
        keep_outputs: bool,
        on_call: Callable[[int], None] | None,
    ) -> None:
        super().__init__()
        self.trace, self.route, self.record = trace, route, record
        self.verify_rows, self.keep_outputs = verify_rows, keep_outputs
        self.on_call, self.count = on_call, 0
        self.value_of: int | None = None

    def __torch_function__(
        self, func: Callable, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Record or route attention; leave everything else alone."""
        kwargs = kwargs or {}
        if func is F.scaled_dot_product_attention:
            return self.attention(*args, **kwargs)
        if func is F.multi_head_attention_forward:
            return self.multi_head(*args, **kwargs)
        if func in (attend, attention_weights):
            # A layer asks for its weights after it has attended.
            routed = self.route.of(self.count - (func is attention_weights))
            kwargs["mechanism"] = kwargs.get("mechanism") if routed is None else routed.name
            kwargs["grid"] = self.route.grid_of(args[0])
        if func is attend:
            return self.layer(*args, **kwargs)
        return func(*args, **kwargs)

    def attention(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """Stand in for F.scaled_dot_product_attention, whose signature this is."""
        own = {"scale": scale, "enable_gqa": enable_gqa}
        routed, grid = self.route.of(self.count), self.route.grid_of(query)
        if routed is None:
            arguments = (query, key, value, attn_mask, dropout_p, is_causal)
            output = F.scaled_dot_product_attention(*arguments, **own)
            kernel = _kernel(*arguments, **own)
            query, key, value = one_batch(query, key, value)
        else:
            query, key, value = one_batch(query, key, value)
            how = {"is_causal": is_causal, "scale": scale, "dropout_p": dropout_p, "grid": grid}
            output = _routed(routed, query, key, value, attn_mask, **how)
            kernel = routed.name
        call = AttentionCall(
            query=four_axes(query),
            key=four_axes(key),
            mask=None if attn_mask is None else mask_axes(attn_mask, query),
            is_causal=is_causal,
            scale=query.shape[-1] ** -0.5 if scale is None else scale,
            mechanism=None if routed is None else routed.name,
            kernel=kernel,
            grid=grid,
        )
        self.note(call, value, output)
        return output

    def layer(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *,
        mask: Mask | None,
        is_causal: bool,
        dropout_p: float,
        mechanism: str | None,
        grid: Grid | None,
    ) -> Tensor:
        """Stand in for `attend`, which names the mechanism: the layer's, or this capture's."""
        how = {"mask": mask, "is_causal": is_causal, "dropout_p": dropout_p}
        output = attend(query, key, value, mechanism=mechanism, grid=grid, **how)
        kernel = mechanism or _kernel(
            query, key, value, mask, dropout_p, is_causal and mask is None
        )
        scale = query.shape[-1] ** -0.5
        call = AttentionCall(query, key, mask, is_causal, scale, mechanism, kernel, grid=grid)
        self.note(call, value, output)
        return output

    def note(self, call: AttentionCall, value: Tensor, output: Tensor) -> None:
        """Count a call and, where calls are recorded, keep what its maps need."""
        self.count += 1
        if self.record:
            call = replace(
                call,
                layer=self.count - 1,
                query=detached(call.query),
                key=detached(call.key),
                mask=None if call.mask is None else call.mask.detach(),
                kernel=f"{call.kernel} ({call.query.device.type})",
            )
            if self.keep_outputs:  # where all before is frozen, the graph begins here
                call = replace(call, value=detached(value), output=output.requires_grad_())
            elif self.count - 1 == self.value_of:
                call = replace(call, value=four_axes(detached(value)))
            self.trace.calls.append(self.checked(call, value, output))
        if self.on_call:
            self.on_call(self.count)

    def checked(self, call: AttentionCall, value: Tensor, output: Tensor) -> AttentionCall:
        """The call with its verified error, where one was asked for; v and output are let go."""
        if not self.verify_rows:
            return call
        full = replace(call, value=four_axes(value.detach()), output=four_axes(output.detach()))
        return replace(call, error=verify(full, rows=self.verify_rows))

    def multi_head(self, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor | None]:
        """Run nn.MultiheadAttention's function with this mode on, so that its call is seen."""
        function = MultiHeadCall(args, kwargs)
        record, self.record = self.record, self.record or function.wants_weights
        try:
            with self:
                output = function.run()
        finally:
            self.record = record
        if not function.wants_weights:
            return output, None
        call = self.trace.calls[-1] if record else self.trace.calls.pop()
        mechanism = MECHANISMS[call.mechanism or "standard"]
        how = {"mask": call.mask, "is_causal": call.is_causal, "scale": call.scale}
        weights = mechanism.weights(call.query, call.key, grid=call.grid, **how)
        weights = weights.mean(dim=1) if function.wants_average else weights
        return output, weights.to(output.dtype) if output.ndim == 3 else weights[0].to(output.dtype)


def _routed(
    mechanism: Mechanism,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    **how: Any,
) -> Tensor:
    """The mechanism's output, in the layout that the caller expects."""
    output = mechanism.attend(
        *(four_axes(tensor) for tensor in (query, key, value)),
        mask=None if mask is None else mask_axes(mask, query),
        **how,
    )
    return output.reshape(*query.shape[:-1], value.shape[-1])


def _kernel(query: Tensor, *arguments: Any, **own: Any) -> str:
    """The name of the kernel that torch takes for these arguments of attention."""
    if query.device.type not in ASKED_ON:
        return "PyTorch's own"
    return KERNELS.get(torch._fused_sdp_choice(query, *arguments, **own), "unknown")
