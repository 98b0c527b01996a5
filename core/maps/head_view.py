"""Reading: one head of one sentence or picture out of a run, as numpy arrays with labels.

What a page, a download and the command line show comes from here, so that they show the same.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import compress

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from core import maps
from core.capture.trace import AttentionCall
from core.errors import InputError
from core.maps import regions
from core.maps.cells import allowed_in_cells, largest_in_cells, spans
from core.maps.choices import Choice, HeadView
from core.maps.labelled import LabelledMap, Provenance
from core.maps.one_thread import one_thread
from core.maps.regions import CellLayout
from core.maps.words import without, words_view
from core.models.run import Run
from core.types import Group, Position

EXACT_UP_TO = 512  # positions up to which a head is shown cell by cell; beyond, it is pooled
EXACT = 2048  # positions up to which a file of numbers holds every weight
THUMBNAIL = 32  # cells a side of one head in the mosaic


def head_view(run: Run, choice: Choice, exact_up_to: int = EXACT_UP_TO) -> HeadView:
    """The map of one head, or a region of it, cut to its own sentence; pooled if it is too long.

    Raises:
        ValueError: if there is no such layer, head or region.
    """
    group = run.prepared.groups[choice.group]
    call = call_of(run, choice)
    queries, keys = group.queries[choice.item], group.keys[choice.item]
    if choice.region is not None or max(len(queries), len(keys)) > exact_up_to:
        return _region_view(run, choice, exact_up_to)
    ranges = own_ranges(group, choice.item)
    with one_thread():
        weights = _array(maps.tile(call, choice.head, *ranges.values(), choice.item))
    allowed = None
    if call.restricted:
        cells = maps.allowed_cells(call, choice.head, choice.item).numpy()
        allowed = cells[slice(*ranges["q_range"]), slice(*ranges["k_range"])]
    return _options(HeadView(weights, allowed, queries, keys), choice)


def mosaic_view(
    run: Run,
    choice: Choice,
    size: int = THUMBNAIL,
    on_layer: Callable[[float], None] | None = None,
) -> Float[np.ndarray, "layer head q_cell k_cell"]:
    """Every head of a group, each pooled to at most size x size cells by its largest weight."""
    group = run.prepared.groups[choice.group]
    ranges = own_ranges(group, choice.item)
    layers = []
    for layer, index in enumerate(group.calls):
        call = run.trace.calls[index]
        heads = [
            largest_in_cells(head_view(run, replace(choice, layer=layer, head=head)).weights, size)
            if choice.changes_map
            else _array(maps.pooled(call, head, size, "max", choice.item, **ranges))
            for head in range(call.heads)
        ]
        layers.append(np.stack(heads))
        if on_layer is not None:
            on_layer((layer + 1) / len(group.calls))
    return np.stack(layers)


def patch_rows(
    run: Run, query: int, *, looked_at: bool = False, group: int = 0
) -> Float[np.ndarray, "layer head position"]:
    """For one position of a picture: what it looks at in every head, or what looks at it."""
    calls = [run.trace.calls[index] for index in run.prepared.groups[group].calls]
    if looked_at:
        return _array(maps.columns(calls, query))
    with one_thread():
        return _array(maps.rows(calls, query))


def cell_layout(run: Run, choice: Choice, exact_up_to: int = EXACT_UP_TO) -> CellLayout:
    """Where the cells of a long text lie, by its region: pooled where that is too large.

    Raises:
        ValueError: if the region is empty or reaches beyond the text.
    """
    group = run.prepared.groups[choice.group]
    of = len(group.queries[choice.item]), len(group.keys[choice.item])
    return regions.cell_layout(choice.region, of, exact_up_to, EXACT_UP_TO)


def is_long(run: Run, choice: Choice) -> bool:
    """Are there more positions than `EXACT_UP_TO`, so that heads are pooled?"""
    group = run.prepared.groups[choice.group]
    return max(len(side[choice.item]) for side in (group.queries, group.keys)) > EXACT_UP_TO


def labelled(run: Run, choice: Choice, given: str) -> LabelledMap:
    """One head ready for a download: exact up to `EXACT` positions, with labels and provenance."""
    view = head_view(run, choice, EXACT)
    labels = [tuple(p.label for p in positions) for positions in (view.queries, view.keys)]
    return LabelledMap(view.weights, *labels, provenance(run, choice, given, view.note))


def labelled_query(
    run: Run, choice: Choice, query: int, given: str, *, looked_at: bool = False
) -> LabelledMap:
    """One row of one head, what a position looks at; or one column, what looks at it."""
    call = call_of(run, choice)
    group = run.prepared.groups[choice.group]
    queries, keys = (
        tuple(position.label for position in side[0]) for side in (group.queries, group.keys)
    )
    if looked_at:
        about = provenance(run, choice, given, f"what looks at {keys[query]}")
        weights = _array(maps.column(call, choice.head, query))[:, None]
        return LabelledMap(weights, queries, (keys[query],), about)
    about = provenance(run, choice, given, f"what {queries[query]} looks at")
    weights = _array(maps.row(call, choice.head, query))[None]
    return LabelledMap(weights, (queries[query],), keys, about)


def query_position(run: Run, name: str | None, group: int = 0) -> int:
    """The position of 'CLS', 'register 2' or a patch 'row,column'; the first one if None.

    Raises:
        InputError: if the picture has no such position.
    """
    positions = run.prepared.groups[group].queries[0]
    if name is None:
        return 0
    names = [position.label.removeprefix("patch ") for position in positions]
    wanted = name.removeprefix("patch ").replace(" ,", ",").replace(", ", ",")
    if wanted not in names:
        special = [position.label for position in positions if position.special]
        raise InputError(
            f"A query such as {', '.join([*special, f'0,0 to {names[-1]}'])} was wanted; "
            f"'{name}' came."
        )
    return names.index(wanted)


def provenance(run: Run, choice: Choice, given: str, note: str = "") -> Provenance:
    """Where a map comes from, for its download."""
    call, groups = call_of(run, choice), run.prepared.groups
    sentences = len(groups[choice.group].queries)
    parts = [
        groups[choice.group].name if len(groups) > 1 else "",
        f"sentence {choice.item + 1} of {sentences}" if sentences > 1 else "",
        note,
    ]
    return Provenance(
        model=run.model,
        mechanism=run.mechanism or "the model's own",
        kernel=call.kernel,
        layer=choice.layer,
        head=choice.head,
        input=given,
        note="; ".join(part for part in parts if part),
        device=call.query.device.type,
        precision=str(call.query.dtype).removeprefix("torch."),
        versions=run.versions,
    )


def call_of(run: Run, choice: Choice) -> AttentionCall:
    """The recorded call of a layer of a group.

    Raises:
        ValueError: if the group has no such layer, or the layer no such head.
    """
    calls = run.prepared.groups[choice.group].calls
    if not 0 <= choice.layer < len(calls):
        raise ValueError(f"a layer from 0 to {len(calls) - 1} was wanted; {choice.layer} came")
    call = run.trace.calls[calls[choice.layer]]
    if not 0 <= choice.head < call.heads:
        raise ValueError(f"a head from 0 to {call.heads - 1} was wanted; {choice.head} came")
    return call


def _region_view(run: Run, choice: Choice, exact_up_to: int) -> HeadView:
    """A region cell by cell, or pooled where it is too large; never an N x N buffer."""
    call, group = call_of(run, choice), run.prepared.groups[choice.group]
    where = cell_layout(run, choice, exact_up_to)
    (first_q, _), (first_k, _) = own_ranges(group, choice.item).values()
    there = where.region.moved(first_q, first_k)
    if where.exact:
        weights = maps.tile(call, choice.head, *there, choice.item)
    else:
        sides = {"q_range": there.q, "k_range": there.k}
        weights = maps.pooled(call, choice.head, EXACT_UP_TO, choice.reduce, choice.item, **sides)
    note = where.note(choice.reduce)
    if choice.changes_map:
        note += "; too long to leave out tokens or to join words"
    return HeadView(
        _array(weights),
        allowed_in_cells(call, choice.head, choice.item, there, where.cells),
        spans(group.queries[choice.item][slice(*where.region.q)], where.cells[0]),
        spans(group.keys[choice.item][slice(*where.region.k)], where.cells[1]),
        note,
        where,
    )


def _options(view: HeadView, choice: Choice) -> HeadView:
    """Special tokens hidden and words joined, as asked; the note says what was done."""
    weights, allowed, queries, keys = view.weights, view.allowed, view.queries, view.keys
    notes = ["special tokens hidden"] if choice.hide_special else []
    notes += [f"without the first token, {keys[0].label}"] if choice.leave_first else []
    if notes:
        notes[-1] += ", rows renormalised"
        keep_q, keep_k = (_kept(side, choice) for side in (queries, keys))
        weights = without(weights, keep_q, keep_k)
        allowed = None if allowed is None else allowed[np.ix_(keep_q, keep_k)]
        queries, keys = tuple(compress(queries, keep_q)), tuple(compress(keys, keep_k))
    if choice.by_word:
        weights, by_query, by_key = words_view(weights, queries, keys)
        if allowed is not None:
            allowed = words_view(allowed.astype(np.float32), queries, keys).weights > 0
        queries, keys = by_query, by_key
        notes.append("by word: key columns added, query rows averaged")
    return HeadView(weights, allowed, queries, keys, "; ".join(notes))


def _kept(positions: tuple[Position, ...], choice: Choice) -> Bool[np.ndarray, " position"]:
    """The positions that stay; all of them where none would."""
    keep = np.array([not (choice.hide_special and each.special) for each in positions])
    keep[0] &= not choice.leave_first
    return keep if keep.any() else ~keep


def own_ranges(group: Group, item: int) -> dict[str, tuple[int, int]]:
    """Where a sentence of a padded batch lies among queries and keys."""
    first_q = group.first_query[item] if group.first_query else 0
    first_k = group.first_key[item] if group.first_key else 0
    return {
        "q_range": (first_q, first_q + len(group.queries[item])),
        "k_range": (first_k, first_k + len(group.keys[item])),
    }


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.cpu().numpy()
