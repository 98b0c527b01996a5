"""What every attention mechanism is: two functions and a few words."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.masks import Mask


@runtime_checkable
class Attend(Protocol):
    """The output of attention; masks and causality as in `core.attention.common.masks`."""

    def __call__(
        self,
        query: Float[Tensor, "batch head q dim"],
        key: Float[Tensor, "batch kv_head k dim"],
        value: Float[Tensor, "batch kv_head k value_dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        scale: float | None = None,
        dropout_p: float = 0.0,
    ) -> Float[Tensor, "batch head q value_dim"]:
        """Attend."""
        ...


@runtime_checkable
class Weights(Protocol):
    """The matrix that `attend` implies: rows look, columns are looked at, rows sum to 1."""

    def __call__(
        self,
        query: Float[Tensor, "batch head q dim"],
        key: Float[Tensor, "batch kv_head k dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        scale: float | None = None,
    ) -> Float[Tensor, "batch head q k"]:
        """Weights, in float32 at least."""
        ...


@dataclass(frozen=True)
class Mechanism:
    """One way to attend, under one contract (tests/core/attention/test_mechanisms.py runs it)."""

    name: str
    title: str
    source: str  # paper and link
    exact: bool  # softmax attention, to rounding
    cost: str  # in words, N positions, d dimensions
    attend: Attend
    weights: Weights
    any_mask: bool = True  # False: `attend` takes masks of keys and causal ones only, and says so
    has_dropout: bool = True  # False: dropout_p > 0 is refused with a sentence
    # True: a row depends on where its query stands. `weights` of some queries then takes their
    # `positions`, one a query; without them they are 0, 1, 2...
    positional: bool = False
    # True: rows look within a picture. `attend` and `weights` then take its `grid` (a Grid);
    # without one the positions are laid out as the mechanism says
    spatial: bool = False
    # Why it cannot run on a device in a precision, or None; quick, and cached where it tries a
    # call. Without one it runs everywhere
    unavailable: Callable[[torch.device, torch.dtype], str | None] | None = None
    compiles: bool = False  # True: the first call of each kind takes seconds
    no_gradients: tuple[str, ...] = ()  # kinds of device ("cpu") where it has no backward pass
