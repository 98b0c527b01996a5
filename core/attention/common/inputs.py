"""Inputs: what one call of attention computes with, put together once for every mechanism."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.attention.common.grid import Grid
from core.attention.common.masks import Mask
from core.attention.common.shapes import exact_dtype
from core.attention.common.visibility import Pairs, causal, limited


@dataclass(frozen=True, eq=False)
class AttentionInputs:
    """One call of attention as a mechanism's kernel gets it: checked, with nothing left open."""

    query: Float[Tensor, "batch head q dim"]
    key: Float[Tensor, "batch kv_head k dim"]
    value: Float[Tensor, "batch kv_head k value_dim"] | None  # None: only the weights are wanted
    mask: Mask | None
    is_causal: bool  # top-left, by position
    scale: float  # of the scores
    dropout_p: float = 0.0
    grid: Grid | None = None  # how the keys lie in a picture
    positions: Int[Tensor, " q"] | None = None  # of these queries; None: 0, 1, 2...

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Of the weights: batch, head, q, k."""
        return (*self.query.shape[:3], self.key.shape[2])

    @property
    def exact(self) -> torch.dtype:
        """The type in which weights are computed: float32 at least."""
        return exact_dtype(self.query.dtype)

    @property
    def is_empty(self) -> bool:
        """Is there nothing to compute? The output is then `zeros`."""
        return not (self.query.numel() and self.key.numel() and self.value.numel())

    def zeros(self) -> Float[Tensor, "batch head q value_dim"]:
        """An output in which no query attends to anything."""
        return self.query.new_zeros(*self.query.shape[:3], self.value.shape[-1])

    def causality(self) -> Pairs | None:
        """True where causality lets a query attend to a key, `q k`; None where it hides none."""
        if not self.is_causal:
            return None
        *_, q, k = self.shape
        device = self.query.device
        queries = torch.arange(q, device=device) if self.positions is None else self.positions
        return causal(queries[:, None], torch.arange(k, device=device))

    def limits(self) -> Mask | None:
        """The mask and causality as one mask; None where every query may attend to every key."""
        return limited(self.mask, self.causality())
