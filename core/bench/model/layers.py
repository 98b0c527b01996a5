"""Layers: every attention call of a model by the name that a person gives it, and ranges of them.

A layer is an attention call: a decoder layer that also looks at its source counts as two, and the
attention that pools a picture is the last.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from core.errors import InputError
from core.models.run import Prepared
from core.types import Group

RANGE = re.compile(r"\s*(\d{1,6})\s*(?:(?:-|to)\s*(\d{1,6})\s*)?")
SIDES = ("encoder", "decoder", "cross-attention")  # each counts its layers for itself


@dataclass(frozen=True)
class Layer:
    """One attention call."""

    call: int  # its place among all calls of a forward pass, counted from 0
    name: str  # '3', 'decoder 3', 'pooling'


def layers_of(prepared: Prepared) -> tuple[Layer, ...]:
    """All layers, in the order in which they run."""
    found = [
        Layer(call, _name(group, number, call))
        for group in prepared.groups
        for number, call in enumerate(group.calls)
    ]
    return tuple(sorted(found, key=lambda layer: layer.call))


def calls_of(text: str, layers: Sequence[Layer]) -> tuple[int, ...]:
    """The calls of a range such as '8-12', counted from 0, both ends included.

    Raises:
        InputError: if it is no range, or reaches beyond the layers there are.
    """
    last = len(layers) - 1
    found = RANGE.fullmatch(text)
    if found is not None:
        start = int(found[1])
        end = start if found[2] is None else int(found[2])
        if start <= end <= last:
            return tuple(range(start, end + 1))
    wanted = f"one of the layers 0 to {last}, or a range of them such as 0-{last // 2},"
    raise InputError(f"{wanted.capitalize()} was wanted; '{text.strip()}' came.")


def in_words(calls: Sequence[int] | None, layers: Sequence[Layer]) -> str:
    """A range as a person says it: 'all layers', 'layer 3', 'layers 8 to 12'."""
    if calls is None:
        return "all layers"
    if not calls:
        return "no layer"
    first, last = layers[calls[0]].name, layers[calls[-1]].name
    numbered = first.isdigit()
    if len(calls) == 1:
        return f"layer {first}" if numbered else first
    return f"layers {first} to {last}" if numbered else f"{first} to {last}"


def _name(group: Group, number: int, call: int) -> str:
    """Stages of a Swin run one after another, so their layers are numbered through."""
    if group.name == "pooling":
        return group.name
    return f"{group.name} {number}" if group.name in SIDES else f"{call}"
