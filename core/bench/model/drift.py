"""Moved: how far a mechanism moves what the model gives in the end.

What is compared lies behind every layer: the final hidden states, the decoder's output where there
is one, or the embedding where a last attention pools the hidden states.
"""

from dataclasses import dataclass
from typing import NamedTuple

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from core.models.run import Output, Prepared
from core.types import Group, Prediction


class Final(NamedTuple):
    """What a model gives in the end, a row for each position that is not padding."""

    what: str  # 'hidden states', 'decoder output', 'embedding'
    rows: Float[Tensor, "row dim"]


@dataclass(frozen=True)
class Shift:
    """The likeliest prediction before and after."""

    own: Prediction
    now: Prediction
    own_now: float | None  # what the former likeliest has now; None: not among the first few

    @property
    def stayed(self) -> bool:
        """Is it the same?"""
        return self.own.label == self.now.label


@dataclass(frozen=True)
class OutputDrift:
    """How far an output is from the model's own."""

    what: str  # that is compared, such as 'hidden states'
    cosine: float  # averaged over positions; 1 is no drift
    error: float  # length of the difference / length of the model's own output
    shifts: tuple[Shift, ...] = ()  # one a batch item, where the model predicts something


def final(prepared: Prepared, output: Output) -> Final:
    """The output behind all layers."""
    if output.decoded is not None:
        return Final("decoder output", _own_rows(output.decoded, prepared.groups[1]))
    if prepared.groups[-1].name == "pooling":
        return Final("embedding", output.embedding.double())
    return Final("hidden states", _own_rows(output.hidden, prepared.groups[0]))


def output_drift(prepared: Prepared, output: Output, own: Output) -> OutputDrift:
    """How far `output` is from the model's own."""
    (what, after), (_, before) = final(prepared, output), final(prepared, own)
    shifts = [
        Shift(first[0], now[0], {each.label: each.probability for each in now}.get(first[0].label))
        for first, now in zip(own.predictions, output.predictions, strict=True)
    ]
    cosine = F.cosine_similarity(after, before, dim=-1).mean().item()
    return OutputDrift(
        what=what,
        cosine=min(1.0, cosine),  # rounding goes beyond
        error=((after - before).norm() / before.norm()).item(),
        shifts=tuple(shifts),
    )


def _own_rows(
    states: Float[Tensor, "batch position dim"], group: Group
) -> Float[Tensor, "row dim"]:
    """The rows that are not padding; double: in float32 a drift below 1e-7 is noise."""
    first = group.first_query or (0,) * len(group.queries)
    return torch.cat(
        [
            states[item, start : start + len(own)].double()
            for item, (start, own) in enumerate(zip(first, group.queries, strict=True))
        ]
    )
