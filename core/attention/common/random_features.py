"""Positive orthogonal random features: what FAVOR+ puts in place of softmax's exponential.

Source: Choromanski et al. 2021, lemma 2 and section 2.4, https://arxiv.org/abs/2009.14794

exp(q k) = E[phi(q) phi(k)] for phi(x) = exp(W x - |x|^2 / 2) and Gaussian rows in W; rows that
stand orthogonal lower the variance.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.shapes import exact_dtype


def num_features(dim: int) -> int:
    """As many features as the paper takes, d ln d: 266 for 64 dimensions."""
    return max(1, int(dim * math.log(dim)))


def projection(
    dim: int, features: int, generator: torch.Generator
) -> Float[Tensor, "features dim"]:
    """Gaussian rows, orthogonal to each other within every block of `dim` rows; in float64."""
    squares = -(-features // dim)
    normal = torch.randn(squares, dim, dim, generator=generator, dtype=torch.float64)
    directions, triangle = torch.linalg.qr(normal)
    # QR fixes signs in its own way; only with these is the rotation uniformly distributed.
    directions = directions * triangle.diagonal(dim1=-2, dim2=-1).sign()[:, None, :]
    lengths = torch.randn(squares, dim, dim, generator=generator, dtype=torch.float64).norm(dim=-1)
    return (directions * lengths[..., None]).flatten(0, 1)[:features]


@lru_cache(maxsize=32)
def _cached_projection(
    dim: int, features: int, seed: int, dtype: torch.dtype, device: torch.device
) -> Float[Tensor, "features dim"]:
    # Made outside of inference mode: a later caller may need gradients through it.
    with torch.inference_mode(False), torch.no_grad():
        rows = projection(dim, features, torch.Generator().manual_seed(seed))
        return rows.to(device=device, dtype=dtype)


@dataclass(frozen=True)
class Exponents:
    """What stands in the exponents of phi(q) and phi(k), up to a constant for each query."""

    matrix: Float[Tensor, "features dim"]
    scale: float

    def of_queries(self, query: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes features"]:
        """W q, with the root of the scale and its sign; -|q|^2 / 2 cancels in each row."""
        root = math.copysign(math.sqrt(abs(self.scale)), self.scale)
        return query @ (self.matrix * root).mT

    def of_keys(self, key: Float[Tensor, "*axes dim"]) -> Float[Tensor, "*axes features"]:
        """W k - |k|^2 / 2, with the root of the scale."""
        projected = key @ (self.matrix * math.sqrt(abs(self.scale))).mT
        return projected.sub_(key.square().sum(dim=-1, keepdim=True) * (abs(self.scale) / 2))


def exponents(
    query: Float[Tensor, "batch head q dim"], scale: float, features: int | None, seed: int
) -> Exponents:
    """The exponents for queries of this width, type and device; in float32 at least.

    The same seed and number of features (None: d ln d) give the same matrix.
    """
    dim = query.shape[-1]
    features = num_features(dim) if features is None else features
    exact = exact_dtype(query.dtype)
    matrix = _cached_projection(dim, features, seed, exact, query.device)
    return Exponents(matrix, scale)
