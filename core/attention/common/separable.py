"""Masks that a running sum over keys can honour: which keys exist, and how far a query reaches.

Kernel attention (linear, favor) adds keys up before any query reads the sum, so it takes masks of
keys (padding) and causal ones of any alignment, and no others. Models hand both over as one
ready-made `batch head q k` tensor; this module finds out what such a tensor says.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Bool
from torch import Tensor

from core.attention.common.inputs import AttentionInputs
from core.attention.common.masks import Mask, allowed
from core.attention.common.visibility import Pairs, limited
from core.errors import MechanismError

BLOCK_NUMBERS = 2**19  # numbers in a block of feature rows: 2 MiB in float32, near the caches
MIN_ROWS, MAX_ROWS = 32, 4096
CAUSAL_ROWS = 128  # a causal block also makes rows x rows weights, so it is kept smaller


class Step(NamedTuple):
    """One block of queries, and the keys that come into their reach with it.

    Query i of the block attends to key j of it if j <= i + diagonal, and to every earlier key.
    """

    queries: slice
    keys: slice
    diagonal: int


@dataclass(frozen=True)
class SeparableMask:
    """Query i may attend to key j if `keys` has j and, with an offset, j <= i + offset."""

    keys: Bool[Tensor, "#batch #head k"] | None  # None: all
    offset: int | None  # None: not causal; 0: top-left; k - q: bottom-right

    def rows(self, batch_heads: int, width: int) -> int:
        """How many rows of `width` features of every head make a block near the caches."""
        most = MAX_ROWS if self.offset is None else CAUSAL_ROWS
        return min(max(BLOCK_NUMBERS // max(batch_heads * width, 1), MIN_ROWS), most)

    def together(self, groups: int, width: int) -> int:
        """How many groups of heads to take at a time: as few rows as must be, over few heads.

        All rows of few heads lie side by side in memory, some rows of many heads do not.
        """
        if self.offset is not None:  # causal blocks are short anyway
            return max(groups, 1)
        return min(max(BLOCK_NUMBERS // max(width, 1), 1), max(groups, 1))

    def of_heads(self, heads: slice) -> "SeparableMask":
        """The same for some of the heads."""
        if self.keys is None or self.keys.shape[1] == 1:
            return self
        return replace(self, keys=self.keys[:, heads])

    def shared(self, k: int) -> int:
        """How many keys (from the first) every query attends to, as far as the offset goes."""
        return k if self.offset is None else min(max(self.offset, 0), k)

    def steps(self, q: int, k: int, rows: int) -> Iterator[Step]:
        """All queries in blocks of `rows`; a block of no rows where there is no query."""
        for start in range(0, max(q, 1), rows):
            yield self.step(start, min(start + rows, q), k)

    def step(self, start: int, stop: int, k: int) -> Step:
        """The block of queries from `start` up to `stop`."""
        queries = slice(start, stop)
        if self.offset is None:
            return Step(queries, slice(k, k), 0)
        first, last = (min(max(row + self.offset, 0), k) for row in (start, stop))
        return Step(queries, slice(first, last), start + self.offset - first)

    def hidden(self, keys: slice) -> Bool[Tensor, "#batch #head keys 1"] | None:
        """True at those of the keys that no query may attend to."""
        return None if self.keys is None else ~self.keys[:, :, keys, None]

    def fully_masked(self, q: int, k: int, device: torch.device) -> Bool[Tensor, "#batch #head q"]:
        """True where a query may attend to no key."""
        queries = torch.arange(q, device=device)
        last = torch.full_like(queries, k - 1) if self.offset is None else queries + self.offset
        if self.keys is None:
            return (last.clamp(max=k - 1) < 0)[None, None]
        first = self.keys.to(torch.uint8).argmax(dim=-1) if k else self.keys.sum(dim=-1)
        first = first.masked_fill(~self.keys.any(dim=-1), k)
        return last < first[..., None]


def blocks(stop: int, rows: int) -> Iterator[slice]:
    """The first `stop` positions, `rows` at a time."""
    for start in range(0, stop, rows):
        yield slice(start, min(start + rows, stop))


def separable_mask(
    name: str, mask: Mask | None, is_causal: bool, shape: tuple[int, int, int, int]
) -> SeparableMask:
    """What the mask and causality (top-left) say for scores of `shape`, batch head q k.

    Raises:
        MechanismError: if the mask is of another kind; the message names the mechanism.
    """
    if mask is None:
        return SeparableMask(None, 0 if is_causal else None)
    visible = boolean_mask(name, _once(mask)).expand(-1, -1, -1, shape[-1])
    keys, offset = _recognised(name, visible)
    if is_causal:
        offset = 0 if offset is None else min(offset, 0)
    return SeparableMask(None if bool(keys.all()) else keys, offset)


def hiding_limits(name: str, inputs: AttentionInputs) -> Pairs | None:
    """True where the mask and causality let a query attend; None where every query may everywhere.

    Raises:
        MechanismError: if the mask does anything else than hide.
    """
    mask = None if inputs.mask is None else boolean_mask(name, inputs.mask)
    return limited(mask, inputs.causality())


def boolean_mask(name: str, mask: Mask) -> Bool[Tensor, "..."]:
    """The mask as True and False; a float mask may only hold 0 and what forbids.

    Raises:
        MechanismError: if the mask adds anything else to the scores.
    """
    visible = allowed(mask)
    if mask.dtype != torch.bool and not torch.equal(mask == 0, visible):
        raise MechanismError(
            f"{name}: masks that hide keys are taken, a mask that adds numbers to the scores is "
            "not, for this mechanism has no softmax to add them in; one came."
        )
    return visible


def _once(mask: Mask) -> Mask:
    """The mask with 4 axes, each of size 1 where it is only repeated: less to read."""
    mask = mask[(None,) * (4 - mask.ndim)]
    for axis in range(4):
        if mask.stride(axis) == 0:
            mask = mask.narrow(axis, 0, min(mask.shape[axis], 1))
    return mask


def _recognised(
    name: str, visible: Bool[Tensor, "#batch #head #q k"]
) -> tuple[Bool[Tensor, "#batch #head k"], int | None]:
    """The keys and the offset of the mask, guessed from two rows and a column, then verified."""
    if visible.shape[-2] == 0:
        return visible.any(dim=-2), None
    keys = visible[:, :, -1]  # the last query attends to every key that any does
    expected = keys[:, :, None].expand_as(visible)
    offset = None
    late = (keys & ~visible[:, :, 0]).nonzero()
    if len(late):
        batch, head, key = late[0].tolist()
        offset = key - int(visible[batch, head, :, key].nonzero()[0])
        expected = expected.tril(offset)
    if not torch.equal(visible, expected):
        raise MechanismError(
            f"{name}: masks of keys (padding) and causal masks are taken; one that hides other "
            f"pairs of query and key came, of shape {tuple(visible.shape)}."
        )
    return keys, offset
