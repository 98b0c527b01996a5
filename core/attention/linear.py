"""Linear attention: a positive feature map in place of softmax, so that keys add up to one matrix.

Source: Katharopoulos et al. 2020, equations 5 to 9, https://arxiv.org/abs/2006.16236

out_i = phi(q_i) S / phi(q_i) z, with S = sum_j phi(k_j) v_j^T and z = sum_j phi(k_j) over the keys
that query i may attend to, and phi(x) = elu(x) + 1. It is no approximation of softmax: its weights
are others.

`scale` is accepted because every caller has one, and has no part in this: it is the temperature of
a softmax, and the published feature map takes queries and keys as they come.

Two phi of -52 multiply to nothing in float32: rows whose sum is so small are made again, from
features relative to the largest of the row and of the keys.
"""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
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
from core.attention.common.visibility import part_of

WEAK = 1e-25  # a row's sum below this has lost terms to underflow
ROWS = 256  # queries whose weights are made at a time where that is so

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
    query = inputs.query.to(inputs.exact)
    key = expand_kv_heads(inputs.key, inputs.query.shape[1]).to(inputs.exact)
    visible = hiding_limits("linear", inputs)
    products = feature_map(query) @ feature_map(key).mT
    if visible is not None:
        products = products.masked_fill(~visible, 0)
    sums = products.sum(dim=-1, keepdim=True)
    if not products.numel() or not bool((sums < WEAK).any()):
        return normalised(products, sums)
    seen = sums.new_ones(()).bool() if visible is None else visible.any(dim=-1, keepdim=True)
    return _far_out(query, key, visible, seen)


def _far_out(
    query: Float[Tensor, "batch head q dim"],
    key: Float[Tensor, "batch head k dim"],
    visible: Bool[Tensor, "..."] | None,
    seen: Bool[Tensor, "..."],
) -> Float[Tensor, "batch head q k"]:
    """The weights where products of features are lost to underflow; `seen` rows have a key."""
    of_keys = key.amax(dim=-1, keepdim=True)
    if visible is not None:
        ever = visible[(None,) * (4 - visible.ndim)].any(dim=-2)[..., None]
        of_keys = of_keys.masked_fill(~ever, -torch.inf)
    top = of_keys.amax(dim=-2, keepdim=True)
    top = top.masked_fill(top == -torch.inf, 0)  # no key at all
    products = relative(query, query.amax(dim=-1, keepdim=True)) @ relative(key, top).mT
    if visible is not None:
        products = products.masked_fill(~visible, 0)
    sums = products.sum(dim=-1, keepdim=True)
    result = normalised(products, sums)
    # Rows whose own keys are far below the largest one: a sum over the features, row by row.
    for batch, head, row in ((sums < WEAK) & seen)[..., 0].nonzero().tolist():
        pairs = log_feature_map(query[batch, head, row]) + log_feature_map(key[batch, head])
        logarithms = pairs.logsumexp(dim=-1)
        if visible is not None:
            own = visible[(None,) * (4 - visible.ndim)].expand(result.shape)[batch, head, row]
            logarithms = logarithms.masked_fill(~own, -torch.inf)
        result[batch, head, row] = logarithms.softmax(dim=-1)
    return result


def relative(x: Float[Tensor, "*axes"], top: Float[Tensor, "*rows"]) -> Float[Tensor, "*axes"]:
    """The feature map as a share of phi(top), where that is below 1; what is above it counts 1."""
    return (torch.minimum(x, low := top.clamp(max=0)) - low).exp() + x.relu()


def log_feature_map(x: Float[Tensor, "*axes"]) -> Float[Tensor, "*axes"]:
    """The logarithm of the feature map."""
    return torch.where(x > 0, x.relu().log1p(), x)


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
    lowest = query.new_full((), torch.inf, dtype=inputs.exact)
    for start in range(0, max(key.shape[1], 1), some):
        kv, own = (slice(start * times, (start + some) * times) for times in (1, group))
        keys = _Keys(key[:, kv], value[:, kv], limits.of_heads(own), inputs.exact)
        into = None if output is None else output[:, own]
        found, least = _of_heads(query[:, own], keys, into)
        outputs.append(found)
        lowest = torch.minimum(lowest, least)
    if bool(lowest < WEAK):
        return _by_weights(inputs)
    return torch.cat(outputs, dim=1) if output is None else output


def _by_weights(inputs: AttentionInputs) -> Float[Tensor, "batch head q value_dim"]:
    """The same from the weights of some rows at a time, which bear what the sums do not."""
    value = expand_kv_heads(inputs.value, inputs.query.shape[1]).to(inputs.exact)
    outputs = []
    for place in blocks(inputs.query.shape[2], ROWS):
        mask = None if inputs.mask is None else part_of(inputs.mask, place)
        positions = torch.arange(place.start, place.stop, device=inputs.query.device)
        some = replace(inputs, query=inputs.query[:, :, place], mask=mask, positions=positions)
        outputs.append((weights(some) @ value).to(inputs.query.dtype))
    return torch.cat(outputs, dim=2)


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
) -> tuple[Float[Tensor, "batch head q value_dim"], Float[Tensor, ""]]:
    """The output of some heads, written into `into` where there is one, and the least row sum."""
    (batch, heads, q, dim), k = query.shape, keys.key.shape[2]
    value_dim = keys.value.shape[-1]
    rows = keys.limits.rows(batch * heads, dim)
    sums = _Sums(
        query.new_zeros(batch * heads, dim, value_dim, dtype=keys.exact),
        query.new_zeros(batch * heads, dim, 1, dtype=keys.exact),
    )
    for place in blocks(keys.limits.shared(k), rows):
        sums = sums.and_also(*keys.block(place, heads))
    outputs, lowest = [], sums.total.new_full((), torch.inf)
    for step in keys.limits.steps(q, k, rows):
        place = None if into is None else into[:, :, step.queries]
        output, least, sums = _answered(query, keys, step, sums, place)
        outputs.append(output)
        lowest = torch.minimum(lowest, least)
    return (torch.cat(outputs, dim=2) if into is None else into), lowest


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
) -> tuple[Float[Tensor, "batch head rows value_dim"], Float[Tensor, ""], _Sums]:
    """The output of a block of queries, its least row sum, and the sums with the keys in reach."""
    batch, heads = query.shape[:2]
    phi = feature_map(query[:, :, step.queries].to(keys.exact)).flatten(0, 1)
    found, weight = phi @ sums.state, phi @ sums.total
    if step.keys.start < step.keys.stop:
        features, values = keys.block(step.keys, heads)
        own = (phi @ features.mT).tril_(step.diagonal)
        found, weight = torch.baddbmm(found, own, values), weight + own.sum(dim=-1, keepdim=True)
        sums = sums.and_also(features, values)
    found, weight = (each.unflatten(0, (batch, heads)) for each in (found, weight))
    least = weight.detach().amin() if weight.numel() else weight.new_full((), torch.inf)
    if into is None:
        return normalised(found, weight).to(query.dtype), least, sums
    return torch.div(found, divisors(weight), out=into), least, sums


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
