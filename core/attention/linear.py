"""Linear attention: a positive feature map in place of softmax, so that keys add up to one matrix.

Source: Katharopoulos et al. 2020, equations 5 to 9, https://arxiv.org/abs/2006.16236

out_i = phi(q_i) S / phi(q_i) z, with S = sum_j phi(k_j) v_j^T and z = sum_j phi(k_j) over the keys
that query i may attend to, and phi(x) = elu(x) + 1. It is no approximation of softmax: its weights
are others.

`scale` is accepted because every caller has one, and has no part in this: it is the temperature of
a softmax, and the published feature map takes queries and keys as they come.
"""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.separable import (
    SeparableMask,
    Step,
    blocks,
    hiding_limits,
    separable_mask,
)
from core.attention.common.shapes import expand_kv_heads, group_size

Flat = Float[Tensor, "batch_head rows _columns"]


def feature_map(x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """elu(x) + 1, as exp(x) up to 1 and what x is above 0.

    The two are equal, but elu takes 1 off and adds it again: below -17 it leaves 0 in float32, and
    its exponential is several times slower.
    """
    if torch.is_grad_enabled() and x.requires_grad:  # a gradient needs both parts as they are
        return x.clamp(max=0).exp() + x.relu()
    return x.exp().clamp_(max=1).add_(x.relu())


def weights(inputs: AttentionInputs) -> Float[Tensor, "batch head q k"]:
    """phi(q) phi(k)^T, every row divided by its sum; any mask that only hides is taken here.

    In float32 at least. A row with no allowed key is all zeros.

    Raises:
        MechanismError: if the mask adds numbers to the scores.
    """
    key = expand_kv_heads(inputs.key, inputs.query.shape[1]).to(inputs.exact)
    products = feature_map(inputs.query.to(inputs.exact)) @ feature_map(key).mT
    visible = hiding_limits("linear", inputs)
    if visible is not None:
        products = products.masked_fill(~visible, 0)
    return normalised(products, products.sum(dim=-1, keepdim=True))


def attend(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """`weights @ v` without the weights: one dim x value_dim matrix a head, and a block of rows.

    Raises:
        MechanismError: for a mask that is not of keys or causal.
    """
    query, key, value = inputs.query, inputs.key, inputs.value
    batch, _, k, dim = key.shape
    group = group_size(query.shape[1], key.shape[1])
    limits = separable_mask("linear", inputs.mask, inputs.is_causal, inputs.shape)
    # A gradient would go through every copy into one tensor.
    output = None if torch.is_grad_enabled() else query.new_empty(*query.shape[:3], value.shape[-1])
    some, outputs = limits.together(key.shape[1], batch * group * k * dim), []
    for start in range(0, max(key.shape[1], 1), some):
        kv, own = (slice(start * times, (start + some) * times) for times in (1, group))
        keys = _Keys(key[:, kv], value[:, kv], limits.of_heads(own), inputs.exact)
        into = None if output is None else output[:, own]
        outputs.append(_of_heads(query[:, own], keys, into))
    return torch.cat(outputs, dim=1) if output is None else output


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
    """The output of some heads, written into `into` where there is one."""
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
    """The output of a block of queries, and the sums with the keys that came into reach."""
    batch, heads = query.shape[:2]
    phi = feature_map(query[:, :, step.queries].to(keys.exact)).flatten(0, 1)
    found, weight = phi @ sums.state, phi @ sums.total
    if step.keys.start < step.keys.stop:
        features, values = keys.block(step.keys, heads)
        own = (phi @ features.mT).tril_(step.diagonal)
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
    attend_kernel=attend,
    weights_kernel=weights,
    masks="keys",
    has_dropout=False,
)
