"""Rows of a long text: what one token looks at, exactly, and the passages that matter to it."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from core import maps
from core.maps.head_view import Choice, call_of, own_ranges, provenance
from core.maps.labelled import LabelledMap
from core.maps.regions import Region
from core.models.run import Run
from core.types import Position

STRONGEST = 20  # keys that are listed, and whose surroundings are read
AROUND = 7  # tokens on either side of each
MARKS = re.compile(r"^##|[\s␣·▁Ġ␠↵⏎Ċ]+")  # of spaces and lines: a search does not count them


class Passage(NamedTuple):
    """Neighbouring keys that are shown."""

    start: int
    stop: int


def exact_row(run: Run, choice: Choice, query: int) -> Float[np.ndarray, " k"]:
    """What one query looks at over all keys of its sentence; sums to 1.

    Raises:
        ValueError: if there is no such layer, head or query.
    """
    group = run.prepared.groups[choice.group]
    (first, stop), keys = own_ranges(group, choice.item).values()
    if not 0 <= query < stop - first:
        raise ValueError(f"a query from 0 to {stop - first - 1} was wanted; {query} came")
    row = maps.row(call_of(run, choice), choice.head, first + query, choice.item)
    return row[slice(*keys)].cpu().numpy()


def strongest_query(run: Run, choice: Choice, region: Region) -> int:
    """The query of a region that holds its largest weight: the one that a pooled cell shows."""
    (first_q, _), (first_k, _) = own_ranges(run.prepared.groups[choice.group], choice.item).values()
    there = region.moved(first_q, first_k)
    weights = maps.tile(call_of(run, choice), choice.head, *there, choice.item)
    return region.q[0] + int(weights.amax(dim=1).argmax())


def strongest(weights: Float[np.ndarray, " k"], most: int = STRONGEST) -> list[int]:
    """The keys with the largest weights, largest first; none without any weight."""
    order = np.argsort(-weights, kind="stable")[:most]
    return [int(key) for key in order if weights[key] > 0]


def passages(
    weights: Float[np.ndarray, " k"], also: Sequence[int] = (), around: int = AROUND
) -> tuple[Passage, ...]:
    """The strongest keys and those of `also`, each with its surroundings, in reading order."""
    found: list[Passage] = []
    for key in sorted({*strongest(weights), *also}):
        start, stop = max(0, key - around), min(len(weights), key + around + 1)
        if found and start <= found[-1].stop:
            found[-1] = Passage(found[-1].start, stop)
        else:
            found.append(Passage(start, stop))
    return tuple(found)


def find(positions: Sequence[Position], words: str, after: int = -1) -> int | None:
    """The next position after `after` at which the words begin, from the start again at the end.

    Neither case nor spaces count, as tokens hold them in many ways. None where they do not stand.
    """
    wanted = _bare(words)
    parts = [_bare(position.label) for position in positions]
    text, ends = "".join(parts), list(accumulate(map(len, parts)))
    if not wanted or wanted not in text:
        return None
    beyond = ends[after] if 0 <= after < len(ends) else 0
    at = text.find(wanted, beyond)
    return bisect_right(ends, text.find(wanted) if at < 0 else at)


def context(positions: Sequence[Position], index: int, around: int = 4) -> str:
    """A token between its neighbours, as one reads them."""
    labels = [position.label for position in positions]
    start = max(0, index - around)
    parts = labels[start:index], [labels[index]], labels[index + 1 : index + around + 1]
    # Byte-level tokens bring their own spaces, marked; the others are words.
    glue = "" if any("␣" in label for label in labels[start : index + around + 1]) else " "
    before, own, after = (glue.join(part).replace("␣", " ") for part in parts)
    return f"{before} ›{own.strip()}‹ {after}".strip()


def labelled_row(run: Run, choice: Choice, query: int, given: str) -> LabelledMap:
    """One exact row ready for a download."""
    group = run.prepared.groups[choice.group]
    asks = group.queries[choice.item][query].label
    about = provenance(run, choice, given, f"what token {query:,} ({asks}) looks at, exact")
    keys = tuple(position.label for position in group.keys[choice.item])
    return LabelledMap(exact_row(run, choice, query)[None], (asks,), keys, about)


def _bare(text: str) -> str:
    return MARKS.sub("", text).casefold()
