"""What every attention mechanism is: what it can take, two kernels, and the calls they share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor

from core.attention.common.grid import Grid, check_grid
from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import Mask, check_mask
from core.attention.common.shapes import group_size
from core.errors import MechanismError

Attend = Callable[..., Tensor]  # `Mechanism.attend`, or what is called like it
Kernel = Callable[[AttentionInputs], Tensor]


@dataclass(frozen=True)
class Mechanism:
    """One way to attend, under one contract (tests/core/attention/test_mechanisms.py runs it).

    `attend` and `weights` put the inputs together, check them against what is said here, and call
    the kernel. What a mechanism cannot take is refused in a sentence that names it.
    """

    name: str
    title: str
    source: str  # paper and link
    exact: bool  # softmax attention, to rounding
    cost: str  # in words, N positions, d dimensions
    attend_kernel: Kernel
    weights_kernel: Kernel  # float32 at least
    # "keys": `attend` takes masks of keys and causal ones only, and says so; "none": no mask
    masks: Literal["any", "keys", "none"] = "any"
    mask_gradients: bool = True  # False: a mask that is to learn is refused
    has_dropout: bool = True  # False: there are no weights to drop
    no_dropout: tuple[str, ...] = ()  # kinds of device ("cpu") where its kernel has no dropout
    no_gradients: tuple[str, ...] = ()  # kinds of device where it has no backward pass
    spatial: bool = False  # True: queries attend within a picture, and a grid says how it lies
    # Why it cannot run on a device in a precision, or None; quick, and cached where it tries a
    # call. Without one it runs everywhere
    unavailable: Callable[[torch.device, torch.dtype], str | None] | None = None
    compiles: bool = False  # True: the first call of each kind takes seconds

    def attend(
        self,
        query: Float[Tensor, "batch head q dim"],
        key: Float[Tensor, "batch kv_head k dim"],
        value: Float[Tensor, "batch kv_head k value_dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        scale: float | None = None,
        dropout_p: float = 0.0,
        grid: Grid | None = None,
    ) -> Float[Tensor, "batch head q value_dim"]:
        """What every query attends to: the values, averaged by `weights`.

        Args:
            query: `head` of them; `kv_head` of the keys and values divides it.
            key: as many as values.
            value: of any width.
            mask: True where a query may attend, or numbers added to the scores; 2 to 4 axes.
            is_causal: top-left, query i attends to the keys 0 to i; goes together with a mask.
            scale: of the scores; one over the root of dim where it is None.
            dropout_p: the share of weights that is dropped.
            grid: how the keys lie in a picture; without effect where the mechanism isn't spatial.

        Raises:
            MechanismError: if the mechanism cannot take the inputs; the message names it.
            ValueError: if kv_head does not divide head, the mask cannot be broadcast, or the grid
                that a spatial mechanism reads has another number of positions than there are keys.
        """
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        inputs = AttentionInputs(query, key, value, mask, is_causal, scale, dropout_p, grid)
        self._check_shapes(inputs)
        self._check_abilities(inputs)
        return self.attend_kernel(inputs)

    def weights(
        self,
        query: Float[Tensor, "batch head q dim"],
        key: Float[Tensor, "batch kv_head k dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        scale: float | None = None,
        positions: Int[Tensor, " q"] | None = None,
        grid: Grid | None = None,
    ) -> Float[Tensor, "batch head q k"]:
        """The matrix that `attend` implies, in float32 at least and on every device.

        Every row sums to 1, or to 0 where the query has no allowed key. Any mask that only hides
        is taken.

        Args:
            query: all queries, or some of them with their positions.
            key: all keys.
            mask: of these queries.
            is_causal: top-left, by position.
            scale: of the scores; one over the root of dim where it is None.
            positions: where these queries stand; 0, 1, 2... where it is None. Without effect where
                a row does not depend on it: no causality, and no pattern of positions.
            grid: as for `attend`.

        Raises:
            MechanismError: if the mask adds numbers to scores that the mechanism does not have.
            ValueError: as for `attend`.
        """
        scale = query.shape[-1] ** -0.5 if scale is None else scale
        how = {"grid": grid, "positions": positions}
        inputs = AttentionInputs(query, key, None, mask, is_causal, scale, **how)
        self._check_shapes(inputs)
        return self.weights_kernel(inputs)

    def _check_shapes(self, inputs: AttentionInputs) -> None:
        """Refuse what does not fit together, with a ValueError."""
        group_size(inputs.query.shape[1], inputs.key.shape[1])
        if inputs.mask is not None:
            check_mask(inputs.mask, inputs.shape)
        if inputs.grid is not None and self.spatial:
            check_grid(inputs.grid, inputs.key.shape[2])

    def _check_abilities(self, inputs: AttentionInputs) -> None:
        """Refuse what `attend` cannot take, with the first reason in a MechanismError."""
        query, mask, device = inputs.query, inputs.mask, inputs.query.device
        reason = self._dropout_obstacle(inputs.dropout_p, device.type)
        if reason is None and self.unavailable is not None:
            reason = self.unavailable(device, query.dtype)
        if reason is None and mask is not None and self.masks == "none":
            reason = f"masks are not taken, causality is; one of shape {tuple(mask.shape)} came"
        if reason is None and torch.is_grad_enabled():
            reason = self._gradient_obstacle(inputs, device.type)
        if reason is not None:
            raise MechanismError(f"{self.name}: {reason}.")

    def _dropout_obstacle(self, dropout_p: float, device: str) -> str | None:
        if dropout_p == 0:
            return None
        if not self.has_dropout:
            return f"there is no dropout, since no weights are made; dropout_p = {dropout_p} came"
        if device in self.no_dropout:
            return f"the {device.upper()} kernel has no dropout; dropout_p = {dropout_p} came"
        return None

    def _gradient_obstacle(self, inputs: AttentionInputs, device: str) -> str | None:
        if inputs.mask is not None and inputs.mask.requires_grad and not self.mask_gradients:
            return "masks that want a gradient are not taken; one came"
        tensors = (inputs.query, inputs.key, inputs.value)
        if device in self.no_gradients and any(each.requires_grad for each in tensors):
            return f"PyTorch's {device.upper()} kernel has no backward pass"
        return None
