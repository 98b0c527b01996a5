"""The encoder block: attention and an MLP, each with a norm before it and a residual around it.

Sources: Xiong et al. 2020 (pre-norm), https://arxiv.org/abs/2002.04745; Dosovitskiy et al. 2021,
equations 2 and 3, https://arxiv.org/abs/2010.11929
"""

from jaxtyping import Float
from torch import Tensor, nn

from core.attention.common.masks import Mask
from core.layers.attention import MultiHeadAttention


def mlp(dim: int, hidden: int, dropout: float = 0.0) -> nn.Sequential:
    """Two linear layers with a GELU between them, and dropout after it."""
    layers = (nn.Linear(dim, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, dim))
    return nn.Sequential(*layers)


class EncoderBlock(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    The same as timm's vision transformer `Block` (with biases) and torch's
    `TransformerEncoderLayer(norm_first=True, activation="gelu")` with the same weights.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        mlp_ratio: float = 4.0,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        eps: float = 1e-5,
        mechanism: str | None = None,
    ) -> None:
        """Start with random weights.

        Args:
            dim: width of every position.
            heads: number of heads; divides `dim`.
            mlp_ratio: width of the MLP's hidden layer, in widths of a position.
            dropout: part of the MLP's numbers and of both branches dropped in training.
            attention_dropout: part of the weights dropped in training; mechanisms without weights
                refuse it.
            eps: added to the variance in both norms; timm's models take 1e-6.
            mechanism: name in MECHANISMS, None for torch's own kernel.

        Raises:
            ValueError: if `heads` does not divide `dim`, or the mechanism is unknown.
        """
        super().__init__()
        self.attention_norm = nn.LayerNorm(dim, eps=eps)
        self.attention = MultiHeadAttention(
            dim, heads, dropout=attention_dropout, mechanism=mechanism
        )
        self.mlp_norm = nn.LayerNorm(dim, eps=eps)
        self.mlp = mlp(dim, int(dim * mlp_ratio), dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "batch position dim"],
        *,
        mask: Mask | None = None,
        is_causal: bool = False,
    ) -> Float[Tensor, "batch position dim"]:
        """The positions after they attended to each other; masks as in `core.layers.attention`."""
        attended = self.attention(self.attention_norm(x), mask=mask, is_causal=is_causal)
        x = x + self.dropout(attended.output)
        return x + self.dropout(self.mlp(self.mlp_norm(x)))
