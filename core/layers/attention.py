"""Attention layers: one head that shows its weights, and many heads from one projection.

Source: Vaswani et al. 2017, section 3.2, https://arxiv.org/abs/1706.03762

Masks of every layer here: boolean, True where a query may attend, or float, added to the scores; of
shape (k,), (q, k), (batch, q, k) or (batch, head, q, k). Padding comes from
`core.attention.common.masks.padding_mask`. `is_causal` lets query i attend to keys 0 to i, and goes
together with a mask. A query with no allowed key gives zeros before the output projection, never
NaN.

`mechanism` is a name in MECHANISMS, or None for torch's own kernel; `core.capture.capture` sees
every call with the mechanism that ran, and a mechanism that it names goes before that of the layer.
"""

from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from core.attention.attend import attend, attention_weights, check_mechanism
from core.attention.common.masks import Mask, batch_mask


class Attended(NamedTuple):
    """What a layer gives: its output and, where they were asked for, its weights."""

    output: Float[Tensor, "batch q dim"]
    weights: Float[Tensor, "batch head q k"] | None  # before dropout, so each row sums to 1


class AttentionHeads(nn.Module):
    """Heads side by side, their outputs concatenated; no output projection."""

    def __init__(
        self,
        dim: int,
        width: int,
        heads: int,
        *,
        kv_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of the queries' input.
            width: width of all heads together; each has width / heads.
            heads: number of heads.
            kv_dim: width of the context; None where it is the same as `dim`.
            dropout: part of the weights dropped in training.
            bias: whether the projections add a bias.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if `heads` does not divide `width`, or the mechanism is unknown.
        """
        super().__init__()
        if heads < 1 or width % heads:
            raise ValueError(f"heads must divide the width: {heads} heads and {width} came")
        check_mechanism(mechanism)
        self.heads, self.dropout, self.mechanism = heads, dropout, mechanism
        kv_dim = dim if kv_dim is None else kv_dim
        self.query = nn.Linear(dim, width, bias=bias)
        self.key = nn.Linear(kv_dim, width, bias=bias)
        self.value = nn.Linear(kv_dim, width, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch q dim"],
        context: Float[Tensor, "batch k kv_dim"] | None = None,
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Attended:
        """x attends to the context, or to itself where there is none.

        Weights are computed only where `need_weights` asks for them.

        Raises:
            MechanismError: if the mechanism cannot take the mask or the dropout.
            ValueError: if the mask does not fit.
        """
        context = x if context is None else context
        query = self.split(self.query(x))
        key, value = self.split(self.key(context)), self.split(self.value(context))
        mask = batch_mask(mask, (*query.shape[:3], key.shape[2]))
        how = {"mask": mask, "is_causal": is_causal, "mechanism": self.mechanism}
        dropout_p = self.dropout if self.training else 0.0
        output = attend(query, key, value, dropout_p=dropout_p, **how)
        output = output.transpose(1, 2).flatten(2)
        return Attended(output, attention_weights(query, key, **how) if need_weights else None)

    def split(
        self, x: Float[Tensor, "batch position width"]
    ) -> Float[Tensor, "batch head position head_dim"]:
        """One projection, cut into heads."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class SelfAttention(AttentionHeads):
    """One head that attends to its own input, and always gives its weights."""

    def __init__(
        self,
        dim: int,
        head_dim: int | None = None,
        *,
        dropout: float = 0.0,
        bias: bool = True,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of the input.
            head_dim: width of the head and of the output; None where it is the same as `dim`.
            dropout: part of the weights dropped in training.
            bias: whether the projections add a bias.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if the mechanism is unknown.
        """
        how = {"dropout": dropout, "bias": bias, "mechanism": mechanism}
        super().__init__(dim, head_dim or dim, 1, **how)

    def forward(
        self,
        x: Float[Tensor, "batch position dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
    ) -> Attended:
        """Output (batch, position, head_dim) and weights (batch, 1, position, position)."""
        return super().forward(x, mask=mask, is_causal=is_causal, need_weights=True)


class MultiHeadAttention(AttentionHeads):
    """Many heads from one projection each for queries, keys and values, and an output projection.

    The same as `torch.nn.MultiheadAttention` and timm's `Attention` with the same weights.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        kv_dim: int | None = None,
        out_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of the queries' input, and of all heads together.
            heads: number of heads; divides `dim`.
            kv_dim: width of the context; None where it is the same as `dim`.
            out_dim: width of the output; None where it is the same as `dim`.
            dropout: part of the weights dropped in training.
            bias: whether the projections add a bias.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if `heads` does not divide `dim`, or the mechanism is unknown.
        """
        how = {"dropout": dropout, "bias": bias, "mechanism": mechanism}
        super().__init__(dim, dim, heads, kv_dim=kv_dim, **how)
        self.output = nn.Linear(dim, dim if out_dim is None else out_dim, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch q dim"],
        context: Float[Tensor, "batch k kv_dim"] | None = None,
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Attended:
        """x attends to the context, or to itself where there is none; see AttentionHeads."""
        how = {"mask": mask, "is_causal": is_causal, "need_weights": need_weights}
        attended = super().forward(x, context, **how)
        return Attended(self.output(attended.output), attended.weights)
