"""What a capture leaves behind: q, k and mask of every attention call, and no map."""

import math
from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.grid import Grid
from core.attention.common.masks import Mask
from core.capture.windows import Windows


@dataclass(frozen=True)
class AttentionCall:
    """One call of attention: what it takes to rebuild any part of its map exactly.

    With `windows` each sequence of q and k is one window of a picture, and the maps are those of
    the full picture: its positions count as queries and keys, its pictures as the batch.
    """

    query: Float[Tensor, "batch head q dim"]
    key: Float[Tensor, "batch kv_head k dim"]
    mask: Mask | None  # 4 axes, each full or 1
    is_causal: bool  # top-left: query i attends to keys 0..i
    scale: float
    mechanism: str | None  # None: the model's own kernel, softmax attention
    kernel: str  # what really ran, such as 'flash (cpu)'
    value: Tensor | None = None  # only while the call is verified
    output: Tensor | None = None
    error: float | None = None  # largest |softmax(qk)v - output|, where it was asked for
    # (batch, head, q, k): the library's own weights, of a model that can't be recorded
    model_weights: Tensor | None = None
    grid: Grid | None = None  # how the positions lie in a picture, where they are its patches
    windows: Windows | None = None  # how the pictures were cut, where attention stays in windows
    layer: int | None = None  # its place among the calls of the pass, from 0

    def __repr__(self) -> str:
        """One line: layer, kernel, shapes, mask; never tensors."""
        shared = "" if self.key.shape[1] == self.heads else f" sharing {self.key.shape[1]}"
        parts = [
            "AttentionCall" if self.layer is None else f"AttentionCall {self.layer}",
            self.kernel or self.mechanism or "not run",
            f"{self.batch} x {self.heads} heads{shared}",
            f"{self.queries} queries x {self.keys} keys, dim {self.query.shape[-1]}",
            str(self.query.dtype).removeprefix("torch."),
        ]
        parts += ["causal"] * self.is_causal
        if self.mask is not None:
            kind = "bool" if self.mask.dtype == torch.bool else "additive"
            parts.append(f"{kind} mask {tuple(self.mask.shape)}")
        parts += ["in windows"] * (self.windows is not None)
        return f"<{', '.join(parts)}>"

    @property
    def heads(self) -> int:
        """Number of query heads."""
        return self.query.shape[1]

    @property
    def batch(self) -> int:
        """Number of sequences or pictures."""
        return self.query.shape[0] // (1 if self.windows is None else self.windows.count)

    @property
    def queries(self) -> int:
        """Number of positions that attend."""
        return self.query.shape[2] if self.windows is None else self.windows.positions

    @property
    def keys(self) -> int:
        """Number of positions that are attended to."""
        return self.key.shape[2] if self.windows is None else self.windows.positions

    @property
    def restricted(self) -> bool:
        """May some query not attend to some key?"""
        return self.mask is not None or self.is_causal or self.windows is not None

    def kv_head(self, head: int) -> int:
        """The key-value head that a query head reads (grouped queries)."""
        return head // (self.heads // self.key.shape[1])


@dataclass
class Trace:
    """All attention calls of a forward pass, in the order in which they ran."""

    calls: list[AttentionCall] = field(default_factory=list)

    def __repr__(self) -> str:
        """A line a call."""
        return "\n".join([f"<Trace of {len(self.calls)} calls>", *map(repr, self.calls)])

    @property
    def nbytes(self) -> int:
        """Bytes that the trace keeps alive: each storage counts once, and whole."""
        tensors = [
            tensor
            for c in self.calls
            for tensor in (c.query, c.key, c.mask, c.value, c.output, c.model_weights)
        ]
        storages = [tensor.untyped_storage() for tensor in tensors if tensor is not None]
        return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())

    @property
    def kernels(self) -> str:
        """The kernels that ran, each named once."""
        return ", ".join(dict.fromkeys(call.kernel for call in self.calls))

    @property
    def error(self) -> float | None:
        """The largest verified error of any call, NaN if any is; None where none was verified."""
        errors = [call.error for call in self.calls if call.error is not None]
        if any(map(math.isnan, errors)):  # max() would pass over it
            return math.nan
        return max(errors, default=None)
