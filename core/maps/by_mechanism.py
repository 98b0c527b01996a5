"""Maps of one head by every mechanism, on the same q and k, and how far each is from softmax."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float

from core import maps
from core.attention import MECHANISMS
from core.capture.trace import AttentionCall
from core.errors import MechanismError
from core.maps.blocks import map_blocks
from core.maps.cells import allowed_in_cells

CELLS = 256  # a side: a picture beside others has room for no more
SAME = 1e-5  # variation of maps that differ by rounding only: a wide window covers a short text
DRAWN = 64  # positions of random q and k: noise at more would only be finer noise


@dataclass(frozen=True)
class HeadMap:
    """What one head attends to by some mechanisms: those that do not differ share one map."""

    mechanisms: tuple[str, ...]
    weights: Float[np.ndarray, "q_cell k_cell"]  # beyond `CELLS` positions the largest of a cell
    variation: float  # half of the sum of |weight - softmax weight|, mean of rows: 0 to 1


@dataclass(frozen=True)
class MapRow:
    """The same head by every mechanism, softmax first."""

    maps: tuple[HeadMap, ...]
    allowed: Bool[np.ndarray, "q_cell k_cell"] | None  # None where all may attend to all
    cell: int  # positions a side of a cell
    refused: tuple[str, ...]  # a sentence for each mechanism that has no such map

    @property
    def top(self) -> float:
        """The largest weight of all: the end of their common scale."""
        return max(float(each.weights.max(initial=0.0)) for each in self.maps)


def map_row(
    call: AttentionCall,
    mechanisms: Sequence[str],
    head: int,
    on_map: Callable[[float], None] = lambda _: None,
) -> MapRow:
    """The maps of a head of the first sequence of a call.

    Args:
        call: whose q and k are taken.
        mechanisms: names in MECHANISMS.
        head: counted from 0.
        on_map: told the share of the mechanisms that is done, 0 to 1.

    Raises:
        ValueError: if the call has no such head.
    """
    softmax = replace(call, mechanism="standard")
    same, others, refused = [], [], []
    for done, mechanism in enumerate(mechanisms):
        on_map(done / len(mechanisms))
        other = replace(call, mechanism=mechanism)
        try:
            far = 0.0 if MECHANISMS[mechanism].exact else variation(softmax, other, head)
        except MechanismError as error:
            refused.append(str(error))
            continue
        if far < SAME:
            same.append(mechanism)
        else:
            others.append(HeadMap((mechanism,), _cells(other, head), far))
    found = (HeadMap(tuple(same or ["standard"]), _cells(softmax, head), 0.0), *others)
    cells = (-(-call.queries // CELLS), -(-call.keys // CELLS))
    region = ((0, call.queries), (0, call.keys))
    allowed = allowed_in_cells(call, head, 0, region, cells)
    return MapRow(found, allowed, max(cells), tuple(refused))


def variation(softmax: AttentionCall, other: AttentionCall, head: int) -> float:
    """Total variation between two maps of a head, mean of the rows; no full map is held."""
    total = 0.0
    pairs = zip(map_blocks(softmax, head, 0), map_blocks(other, head, 0), strict=True)
    for one, two in pairs:
        total += (one - two).abs().sum(dtype=torch.float64).item() / 2
    return total / softmax.queries


def random_call(heads: int, dim: int, *, causal: bool, seed: int) -> AttentionCall:
    """Random q and k of few positions, for a plan that measured on random ones."""
    generator = torch.Generator().manual_seed(seed)
    query, key = torch.randn(2, 1, heads, DRAWN, dim, generator=generator)
    return AttentionCall(query, key, None, causal, dim**-0.5, None, "")


def _cells(call: AttentionCall, head: int) -> Float[np.ndarray, "q_cell k_cell"]:
    return maps.pooled(call, head, CELLS).cpu().numpy()
