"""Linear attention: a positive feature map in place of softmax, so that keys add up to one matrix.

Source: Katharopoulos et al. 2020, equations 5 to 9, https://arxiv.org/abs/2006.16236

out_i = phi(q_i) S / phi(q_i) z, with S = sum_j phi(k_j) v_j^T and z = sum_j phi(k_j) over the keys
that query i may see, and phi(x) = elu(x) + 1. It is no approximation of softmax: weights differ.

`scale` is accepted because every caller has one, and has no part in this: it is the temperature of
a softmax, and the published feature map takes queries and keys as they come.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.masks import Mask, check_mask
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import (
    SeparableMask,
    Step,
    blocks,
    boolean_mask,
    refuse_dropout,
    separable_mask,
)
from core.attention.common.shapes import exact_dtype, expand_kv_heads, group_size

Flat = Float[Tensor, "batch_head rows _columns"]


def feature_map(x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """elu(x) + 1, as exp(x) up to 1 and what x is above 0.

    The two are equal, but elu takes 1 off and adds it again: below -17 it leaves 0 in float32, and
    its exponential is several times slower.
    """
    if torch.is_grad_enabled() and x.requires_grad:  # a gradient needs both parts as they are
        return x.clamp(max=0).exp() + x.relu()
    return x.exp().clamp_(max=1).add_(x.relu())


def weights(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Float[Tensor, "batch head q k"]:
    """phi(q) phi(k)^T, every row divided by its sum; any mask that only hides is taken here.

    In float32 at least. A row with no allowed key is all zeros.

    Raises:
        MechanismError: if the mask adds numbers to the scores.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    exact = exact_dtype(query.dtype)
    key = expand_kv_heads(key, query.shape[1])
    products = feature_map(query.to(exact)) @ feature_map(key.to(exact)).mT
    if mask is not None:
        check_mask(mask, tuple(products.shape))
        products = products.masked_fill(~boolean_mask("linear", mask), 0)
    if is_causal:
        products = products.tril()
    return normalised(products, products.sum(dim=-1, keepdim=True))


def attend(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch kv_head k dim"],
    value: Float[Tensor, "batch kv_head k value_dim"],
    *,
    mask: Mask | None = None,
    is_causal: bool = False,
    scale: float | None = None,
    dropout_p: float = 0.0,
) -> Float[Tensor, "batch head q value_dim"]:
    """`weights @ v` without the weights: one dim x value_dim matrix a head, and a block of rows.

    Raises:
        MechanismError: for dropout, and for a mask that is not of keys or causal.
        ValueError: if kv_head does not divide head, or the mask cannot be broadcast.
    """
    refuse_dropout("linear", dropout_p)
    batch, heads, q, dim = query.shape
    k = key.shape[2]
    shared = group_size(heads, key.shape[1])
    limits = separable_mask("linear", mask, is_causal, (batch, heads, q, k))
    exact = exact_dtype(query.dtype)
    # A gradient would go through every copy into a whole.
    whole = None if torch.is_grad_enabled() else query.new_empty(*query.shape[:3], value.shape[-1])
    some, outputs = limits.together(key.shape[1], batch * shared * k * dim), []
    for start in range(0, max(key.shape[1], 1), some):
        kv, own = (slice(start * times, (start + some) * times) for times in (1, shared))
        keys = _Keys(key[:, kv], value[:, kv], limits.of_heads(own), exact)
        into = None if whole is None else whole[:, own]
        outputs.append(_of_heads(query[:, own], keys, into))
    return torch.cat(outputs, dim=1) if whole is None else whole


class _Keys(NamedTuple):
    """What the sums are made of."""

    key: Float[Tensor, "batch kv_head k dim"]
    value: Float[Tensor, "batch kv_head k value_dim"]
    limits: SeparableMask
    exact: torch.dtype

    def block(self, place: slice, heads: int) -> tuple[Flat, Flat]:
        """Features and values of some keys, as so many query heads read them."""
        features = feature_map(expand_kv_heads(self.key[:, :, place], heads).to(self.exact))
        hidden = self.limits.hidden(place)
        if hidden is not None:
            features.masked_fill_(hidden, 0)
        values = expand_kv_heads(self.value[:, :, place], heads).to(self.exact)
        return features.flatten(0, 1), values.flatten(0, 1)


def _of_heads(
    query: Float[Tensor, "batch head q dim"],
    keys: _Keys,
    into: Float[Tensor, "batch head q value_dim"] | None,
) -> Float[Tensor, "batch head q value_dim"]:
    """The output of some heads, written into a given tensor if there is one."""
    (batch, heads, q, dim), k = query.shape, keys.key.shape[2]
    value_dim = keys.value.shape[-1]
    rows = keys.limits.rows(batch * heads, dim)
    sums = _Sums(
        query.new_zeros(batch * heads, dim, value_dim, dtype=keys.exact),
        query.new_zeros(batch * heads, dim, 1, dtype=keys.exact),
    )
    for place in blocks(keys.limits.shared(k), rows):
        sums = sums.and_also(*keys.block(place, heads))
    outputs = []
    for step in keys.limits.steps(q, k, rows):
        place = None if into is None else into[:, :, step.queries]
        output, sums = _answered(query, keys, step, sums, place)
        outputs.append(output)
    return torch.cat(outputs, dim=2) if into is None else into


class _Sums(NamedTuple):
    """Over the keys so far: features times values, and the features themselves."""

    state: Float[Tensor, "batch_head dim value_dim"]
    total: Float[Tensor, "batch_head dim 1"]

    def and_also(self, features: Flat, values: Flat) -> "_Sums":
        """With some more keys."""
        state = torch.baddbmm(self.state, features.mT, values)
        return _Sums(state, self.total + features.sum(dim=1)[..., None])


# A function of its own: what a block has made is let go before the next one is made.
def _answered(
    query: Float[Tensor, "batch head q dim"],
    keys: _Keys,
    step: Step,
    sums: _Sums,
    into: Float[Tensor, "batch head rows value_dim"] | None,
) -> tuple[Float[Tensor, "batch head rows value_dim"], _Sums]:
    """The output of a block of queries, and the sums with the keys that came into sight."""
    batch, heads = query.shape[:2]
    looking = feature_map(query[:, :, step.queries].to(keys.exact)).flatten(0, 1)
    found, weight = looking @ sums.state, looking @ sums.total
    if step.keys.start < step.keys.stop:
        features, values = keys.block(step.keys, heads)
        own = (looking @ features.mT).tril_(step.diagonal)
        found, weight = torch.baddbmm(found, own, values), weight + own.sum(dim=-1, keepdim=True)
        sums = sums.and_also(features, values)
    found, weight = (each.unflatten(0, (batch, heads)) for each in (found, weight))
    if into is None:
        return normalised(found, weight).to(query.dtype), sums
    return torch.div(found, divisors(weight), out=into), sums


def normalised(
    numerator: Float[Tensor, "*axes columns"], denominator: Float[Tensor, "*axes 1"]
) -> Float[Tensor, "*axes columns"]:
    """The quotient, and 0 where a query had no allowed key (its sums are all 0)."""
    return numerator / divisors(denominator)


def divisors(sums: Float[Tensor, "*axes 1"]) -> Float[Tensor, "*axes 1"]:
    """The sums, and something in place of 0: nothing divided by it stays nothing."""
    return sums.clamp(min=torch.finfo(sums.dtype).tiny)


LINEAR = Mechanism(
    name="linear",
    title="Linear",
    source="Katharopoulos et al. 2020, https://arxiv.org/abs/2006.16236",
    exact=False,
    cost="time grows as N x d x d, memory as d x d",
    attend=attend,
    weights=weights,
    any_mask=False,
    has_dropout=False,
)
