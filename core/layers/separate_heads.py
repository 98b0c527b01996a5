"""Multi-head attention head by head: slower, and the same as `MultiHeadAttention`.

Source: Vaswani et al. 2017, section 3.2.2, https://arxiv.org/abs/1706.03762
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from core.attention.common.masks import Mask, batch_mask
from core.layers.attention import Attended, AttentionHeads, MultiHeadAttention


class SeparateHeads(nn.Module):
    """Multi-head attention as it is often drawn: heads with projections of their own, one by one.

    `joined` gives the MultiHeadAttention that is the same in one go. A capture sees one call a
    head.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        kv_dim: int | None = None,
        dropout: float = 0.0,
        bias: bool = True,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights; arguments and errors as for MultiHeadAttention."""
        super().__init__()
        if heads < 1 or dim % heads:
            raise ValueError(f"heads must divide the width: {heads} heads and {dim} came")
        how = {"kv_dim": kv_dim, "dropout": dropout, "bias": bias, "mechanism": mechanism}
        self.heads = nn.ModuleList(
            AttentionHeads(dim, dim // heads, 1, **how) for _ in range(heads)
        )
        self.output = nn.Linear(dim, dim, bias=bias)

    def forward(
        self,
        x: Float[Tensor, "batch q dim"],
        context: Float[Tensor, "batch k kv_dim"] | None = None,
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
        need_weights: bool = False,
    ) -> Attended:
        """x attends to the context with one head after the other; see AttentionHeads.

        A mask of four axes is cut into its heads.
        """
        k = (x if context is None else context).shape[1]
        mask = batch_mask(mask, (x.shape[0], len(self.heads), x.shape[1], k))
        shared = mask is None or mask.shape[1] == 1
        masks = [mask] * len(self.heads) if shared else mask.split(1, dim=1)
        how = {"is_causal": is_causal, "need_weights": need_weights}
        each = [
            head(x, context, mask=own, **how) for head, own in zip(self.heads, masks, strict=True)
        ]
        output = self.output(torch.cat([one.output for one in each], dim=-1))
        weights = torch.cat([one.weights for one in each], dim=1) if need_weights else None
        return Attended(output, weights)

    def joined(self) -> MultiHeadAttention:
        """The same layer as one projection cut into heads, with a copy of the weights."""
        first = self.heads[0]
        joined = MultiHeadAttention(
            self.output.in_features,
            len(self.heads),
            kv_dim=first.key.in_features,
            dropout=first.dropout,
            bias=self.output.bias is not None,
            mechanism=first.mechanism,
        )
        states = [head.state_dict() for head in self.heads]
        state = {name: torch.cat([one[name] for one in states]) for name in states[0]}
        state |= {f"output.{name}": tensor for name, tensor in self.output.state_dict().items()}
        joined.load_state_dict(state)
        return joined.to(self.output.weight).train(self.training)
