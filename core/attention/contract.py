"""Contract: does a mechanism keep what every map and every number in Headlight rests on?

`check_contract(MINE)` says nothing where it does, and one sentence where it does not. What ours are
held to beyond this is in tests/core/attention.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from core.attention.common.masks import Mask, causal_mask
from core.attention.common.mechanism import Mechanism
from core.errors import MechanismError

BATCH, HEADS, DIM, VALUE_DIM = 2, 6, 5, 3
SIZES = ((7, 7), (3, 11), (11, 3), (1, 11))  # queries and keys
CLOSE = 2e-5  # of float32


class ContractError(AssertionError):
    """A mechanism does not do what it has to; the message says what was wanted and what came."""


class Case(NamedTuple):
    """One call."""

    what: str
    query: Float[Tensor, "batch head q dim"]
    key: Float[Tensor, "batch kv_head k dim"]
    value: Float[Tensor, "batch kv_head k value_dim"]
    visible: Bool[Tensor, "batch head q k"]  # by mask and causality
    mask: Mask | None
    is_causal: bool


def check_contract(mechanism: Mechanism, device: torch.device | str = "cpu") -> None:
    """Try a mechanism on calls of all kinds: rectangles, grouped heads, masks, blind rows.

    Raises:
        ContractError: at the first call where weights are no weights, or `attend` is not their
            product with the values.
    """
    for case in _cases(torch.device(device)):
        weights = mechanism.weights(case.query, case.key, mask=case.mask, is_causal=case.is_causal)
        _check_weights(mechanism.name, case, weights)
        if case.mask is not None and mechanism.masks != "any" and not _of_keys(mechanism, case):
            continue
        _check_output(mechanism, case, weights)


def _check_weights(name: str, case: Case, weights: Tensor) -> None:
    wanted = tuple(case.visible.shape)
    sums = weights.sum(dim=-1)
    blind = ~(weights > 0).any(dim=-1)
    for right, problem in (
        (weights.shape == wanted, f"weights of shape {wanted} were wanted; {weights.shape} came"),
        (weights.dtype == torch.float32, f"weights in float32 were wanted; {weights.dtype} came"),
        (bool(weights.isfinite().all()), "weights that are numbers were wanted; NaN or inf came"),
        (bool((weights >= 0).all()), "no negative weight was wanted; one came"),
        (
            not weights[~case.visible].any(),
            "a weight of 0 was wanted where a query may not attend; another came",
        ),
        (
            bool(((sums - 1).abs() < CLOSE)[~blind].all()),
            f"rows that sum to 1 were wanted; {sums[~blind].min() if (~blind).any() else 0:.3g} to "
            f"{sums.max():.3g} came",
        ),
    ):
        if not right:
            raise ContractError(f"{name}, {case.what}: {problem}.")


def _check_output(mechanism: Mechanism, case: Case, weights: Tensor) -> None:
    how = {"mask": case.mask, "is_causal": case.is_causal}
    before = [tensor.clone() for tensor in case[1:4]]
    output = mechanism.attend(case.query, case.key, case.value, **how)
    if not all(map(torch.equal, before, case[1:4])):
        raise ContractError(f"{mechanism.name}, {case.what}: q, k or v were changed in place.")
    value = case.value.repeat_interleave(HEADS // case.value.shape[1], dim=1)
    wanted = weights @ value
    if output.shape != wanted.shape:
        raise ContractError(
            f"{mechanism.name}, {case.what}: an output of shape {tuple(wanted.shape)} was wanted; "
            f"{tuple(output.shape)} came."
        )
    far = (output - wanted).abs().max().item() if output.numel() else 0.0
    if not far < CLOSE:
        raise ContractError(
            f"{mechanism.name}, {case.what}: attend was wanted to be weights @ value; it is off by "
            f"{far:.1e}."
        )


def _of_keys(mechanism: Mechanism, case: Case) -> bool:
    """Is the mask of a kind that it takes? Where it is not, `attend` has to refuse it by name."""
    if mechanism.masks == "keys" and case.mask.shape[-2] == 1:
        return True
    try:
        mechanism.attend(case.query, case.key, case.value, mask=case.mask)
    except MechanismError as error:
        if str(error).startswith(f"{mechanism.name}:"):
            return False
    raise ContractError(
        f"{mechanism.name}, {case.what}: a refusal that names the mechanism was wanted, as it "
        f"declares masks='{mechanism.masks}'; none came."
    )


def _cases(device: torch.device) -> Iterator[Case]:
    generator = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator).to(device)

    for q, k in SIZES:
        keys = torch.ones(BATCH, 1, 1, k, dtype=torch.bool, device=device)
        keys[0, ..., :2], keys[1, ..., k // 2 :] = False, False
        rows = causal_mask(q, k).to(device)
        pairs = torch.rand(q, k, generator=generator).to(device) > 0.4
        masks = {
            "no mask": (None, torch.ones(q, k, dtype=torch.bool, device=device)),
            "padded keys": (keys, keys),
            "a mask of pairs": (pairs, pairs),
            "nothing allowed": (keys & False, keys & False),
        }
        for kv_heads in (HEADS, HEADS // 2, 1):
            tensors = drawn(BATCH, HEADS, q, DIM), drawn(BATCH, kv_heads, k, DIM)
            value = drawn(BATCH, kv_heads, k, VALUE_DIM)
            for name, (mask, visible) in masks.items():
                for is_causal in (False, True):
                    seen = (visible & rows if is_causal else visible).expand(BATCH, HEADS, q, k)
                    causal = ", causal" if is_causal else ""
                    what = f"{q} queries, {k} keys, {kv_heads} key heads, {name}{causal}"
                    yield Case(what, *tensors, value, seen, mask, is_causal)
