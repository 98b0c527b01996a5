"""FAVOR+: softmax attention estimated with positive orthogonal random features (Performer).

Source: Choromanski et al. 2021, section 2.3, https://arxiv.org/abs/2009.14794; the features are in
`core.attention.common.random_features`.

The estimate is good where weights are flat and poor where they are sharp. Exponents are kept small
without changing the quotient: from the keys each feature's maximum over the allowed keys is taken
off, it is given to the queries, and from these each row's maximum is taken off. Each row's sum
then has a term that is 1, so nothing has to be added to keep it from 0.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import torch
import torch.nn.functional as F  # noqa: N812
from jaxtyping import Float
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.mechanism import Mechanism
from core.attention.common.random_features import Exponents, exponents
from core.attention.common.separable import (
    SeparableMask,
    blocks,
    hiding_limits,
    separable_mask,
)
from core.attention.common.shapes import expand_kv_heads
from core.attention.common.visibility import Pairs
from core.attention.linear import normalised

LOWEST = -1e30  # finite: minus infinity less this is minus infinity, not NaN
WEAK = 1e-20  # a row's sum below this has lost terms to underflow

Flat = Float[Tensor, "batch_head rows _columns"]


@dataclass(frozen=True)
class _Reader:
    """The inputs of one call, read in blocks of rows."""

    query: Float[Tensor, "batch head q dim"]
    key: Float[Tensor, "batch kv_head k dim"]
    value: Float[Tensor, "batch kv_head k value_dim"]
    exponents: Exponents
    limits: SeparableMask

    def queries(self, place: slice) -> Flat:
        """The exponents of these queries."""
        query = self.query[:, :, place].to(self.exponents.matrix.dtype)
        return self.exponents.of_queries(query).flatten(0, 1)

    def keys(self, place: slice) -> Flat:
        """The exponents of these keys, minus infinity at keys that are masked."""
        key = expand_kv_heads(self.key[:, :, place], self.query.shape[1])
        of_keys = self.exponents.of_keys(key.to(self.exponents.matrix.dtype))
        hidden = self.limits.hidden(place)
        if hidden is not None:
            of_keys.masked_fill_(hidden, -torch.inf)
        return of_keys.flatten(0, 1)

    def values(self, place: slice) -> Flat:
        """These values, and a column of ones: a product then yields the sum of the weights too."""
        value = expand_kv_heads(self.value[:, :, place], self.query.shape[1])
        flat = value.to(self.exponents.matrix.dtype).flatten(0, 1)
        return F.pad(flat, (0, 1), value=1.0)


@dataclass(frozen=True)
class _Memory:
    """The keys so far: each feature's maximum, and the sum of phi(k) [v, 1]."""

    top: Float[Tensor, "batch_head 1 features"]
    state: Float[Tensor, "batch_head features columns"]

    @classmethod
    def empty(cls, like: Flat, columns: int) -> "_Memory":
        """No keys yet."""
        heads, _, features = like.shape
        top = like.new_full((heads, 1, features), LOWEST)
        return cls(top, like.new_zeros(heads, features, columns))

    def raised(self, of_keys: Flat) -> "_Memory":
        """The same memory, against maxima that include these keys."""
        if not of_keys.shape[1]:
            return self
        # Maxima cancel in the quotient, so no gradient needs to run through them.
        top = torch.maximum(self.top, of_keys.detach().amax(dim=1, keepdim=True))
        return _Memory(top, self.state * (self.top - top).exp_().mT)

    def key_features(self, of_keys: Flat) -> Flat:
        """phi(k) against the maxima; writes into the exponents."""
        return of_keys.sub_(self.top).exp_()

    def query_features(self, of_queries: Flat) -> Flat:
        """phi(q) against the maxima and each row's own; writes into the exponents."""
        of_queries.add_(self.top)
        return of_queries.sub_(of_queries.detach().amax(dim=-1, keepdim=True)).exp_()

    def plus(self, features: Flat, values: Flat) -> "_Memory":
        """The memory with more keys in it."""
        return replace(self, state=torch.baddbmm(self.state, features.mT, values))


def _sums(reader: _Reader) -> Iterator[Flat]:
    """The numerator and, in the last column, the denominator of each block of queries."""
    (batch, heads, q, _), k = reader.query.shape, reader.key.shape[2]
    limits, place = reader.limits, slice(0, 0)
    rows = limits.rows(batch * heads, len(reader.exponents.matrix))
    memory = _Memory.empty(reader.queries(place), reader.value.shape[-1] + 1)
    for place in blocks(limits.shared(k), rows):
        of_keys = reader.keys(place)
        memory = memory.raised(of_keys)
        memory = memory.plus(memory.key_features(of_keys), reader.values(place))
    fully_masked = limits.fully_masked(q, k, reader.query.device).expand(batch, heads, q)
    fully_masked = fully_masked.flatten(0, 1)
    waiting = [(step.queries.start, step.queries.stop) for step in limits.steps(q, k, rows)][::-1]
    while waiting:
        start, stop = waiting.pop()
        sums, after = _read(reader, memory, start, stop)
        weak = (sums[..., -1] < WEAK) & ~fully_masked[:, start:stop]
        if limits.offset is not None and stop - start > 1 and bool(weak.any()):
            # Keys ahead of a row raised the maxima too far for it; one row alone has none ahead.
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
            continue
        memory = after
        yield sums


def _read(reader: _Reader, memory: _Memory, start: int, stop: int) -> tuple[Flat, _Memory]:
    """The sums of one block of queries, and the memory with the keys that came into its reach."""
    step = reader.limits.step(start, stop, reader.key.shape[2])
    if step.keys.start == step.keys.stop:
        return memory.query_features(reader.queries(step.queries)) @ memory.state, memory
    of_keys, values = reader.keys(step.keys), reader.values(step.keys)
    memory = memory.raised(of_keys)
    phi = memory.query_features(reader.queries(step.queries))
    features = memory.key_features(of_keys)
    own = (phi @ features.mT).tril_(step.diagonal)
    return torch.baddbmm(phi @ memory.state, own, values), memory.plus(features, values)


def attend(
    features: int | None, seed: int, inputs: AttentionInputs
) -> Float[Tensor, "batch head q value_dim"]:
    """`weights @ v` without the weights: one features x value_dim matrix a head, a block of rows.

    Raises:
        MechanismError: for a mask that is not of keys or causal.
    """
    query, key, value = inputs.query, inputs.key, inputs.value
    limits = separable_mask("favor", inputs.mask, inputs.is_causal, inputs.shape)
    found = exponents(query, inputs.scale, features, seed)
    reader = _Reader(query, key, value, found, limits)
    outputs = [normalised(sums[..., :-1], sums[..., -1:]).to(query.dtype) for sums in _sums(reader)]
    return torch.cat(outputs, dim=1).unflatten(0, query.shape[:2])


def weights(
    features: int | None, seed: int, inputs: AttentionInputs
) -> Float[Tensor, "batch head q k"]:
    """phi(q) phi(k)^T, every row divided by its sum; any mask that only hides is taken here.

    In float32 at least. A row with no allowed key is all zeros.

    Raises:
        MechanismError: if the mask adds numbers to the scores.
    """
    query, key, shape = inputs.query, inputs.key, inputs.shape
    visible = _visible(inputs)
    keys = SeparableMask(visible.any(dim=-2), None)
    found = exponents(query, inputs.scale, features, seed)
    reader = _Reader(query, key, key[..., :0], found, keys)
    of_keys = reader.keys(slice(None))
    memory = _Memory.empty(of_keys, columns=0).raised(of_keys)
    phi = memory.query_features(reader.queries(slice(None)))
    products = (phi @ memory.key_features(of_keys).mT).unflatten(0, shape[:2])
    products = products.masked_fill_(~visible, 0)
    sums = products.sum(dim=-1, keepdim=True)
    weak = (sums < WEAK) & visible.any(dim=-1, keepdim=True)
    result = normalised(products, sums.masked_fill(weak, 1))
    for batch, head, row in weak[..., 0].nonzero().tolist():
        pairs = reader.queries(slice(row, row + 1)) + reader.keys(slice(None))
        logarithms = pairs.logsumexp(dim=-1)[batch * shape[1] + head]
        own = visible.expand(shape)[batch, head, row]
        result[batch, head, row] = logarithms.masked_fill(~own, -torch.inf).softmax(dim=-1)
    return result


def _visible(inputs: AttentionInputs) -> Pairs:
    """True where the mask and causality let a query attend: batch, head, q and k, each may be 1."""
    visible = hiding_limits("favor", inputs)
    if visible is None:
        visible = torch.ones(1, 1, dtype=torch.bool, device=inputs.query.device)
    return visible[(None,) * (4 - visible.ndim)].expand(-1, -1, *inputs.shape[2:])


def favor(features: int | None = None, seed: int = 0) -> Mechanism:
    """FAVOR+ with another number of random features (None: d ln d), or other ones."""
    usual = (features, seed) == (None, 0)
    return Mechanism(
        name="favor" if usual else f"favor {features or 'd ln d'}, seed {seed}",
        title="FAVOR+ (Performer)",
        source="Choromanski et al. 2021, https://arxiv.org/abs/2009.14794",
        exact=False,
        cost="time grows as N x d x d ln d, memory as d x d ln d",
        attend_kernel=partial(attend, features, seed),
        weights_kernel=partial(weights, features, seed),
        masks="keys",
        has_dropout=False,
    )


FAVOR = favor()
