"""Scores: how near each picture is to each label, as cosine and, apart from it, as probability.

Source: Radford et al. 2021, section 3.1, https://arxiv.org/abs/2103.00020 (softmax over labels);
Zhai et al. 2023, section 3.2, https://arxiv.org/abs/2303.15343 (SigLIP's sigmoid).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from core.errors import InputError

ONE_LABEL = "Two or more labels are needed for a probability."


class Margin(NamedTuple):
    """How far a picture's first label is ahead of its second."""

    cosine: Float[np.ndarray, " picture"]
    probability: Float[np.ndarray, " picture"]


@dataclass(frozen=True)
class Scores:
    """Every picture against every label."""

    labels: tuple[str, ...]
    templates: tuple[str, ...]
    cosine: Float[np.ndarray, "picture label"]  # with the label's vector over all templates
    probability: Float[np.ndarray, "picture label"] | None  # softmax: each row sums to 1
    by_template: Float[np.ndarray, "template picture label"]  # cosine with each template alone
    scale: float  # exp(logit_scale), what the cosine is multiplied by
    bias: float | None
    sigmoid: bool  # each label by itself; rows of probability do not sum to 1
    note: str = ""  # why there is no probability

    @property
    def spread(self) -> Float[np.ndarray, "picture label"]:
        """How much the templates disagree: the standard deviation of `by_template` over them."""
        return self.by_template.std(axis=0)

    @property
    def margin(self) -> Margin | None:
        """First label's cosine and probability less the second's; None if there is one label."""
        if len(self.labels) < 2:
            return None
        first, second = self.best(2).T
        rows = np.arange(len(first))
        return Margin(
            *(values[rows, first] - values[rows, second]
              for values in (self.cosine, self.probability))
        )  # fmt: skip

    def best(self, count: int) -> Int[np.ndarray, "picture rank"]:
        """The indices of each picture's first labels, best first; all if there are fewer."""
        return np.argsort(-self.cosine, axis=1, kind="stable")[:, :count]


def label_vectors(
    per_template: Float[Tensor, "template label dim"],
) -> Float[Tensor, "label dim"]:
    """One vector of length 1 a label: each template's normalised, averaged, normalised again."""
    return F.normalize(F.normalize(per_template, dim=-1).mean(dim=0), dim=-1)


def score(
    pictures: Float[Tensor, "picture dim"],
    per_template: Float[Tensor, "template label dim"],
    *,
    labels: Sequence[str],
    templates: Sequence[str],
    scale: float,
    bias: float | None = None,
    sigmoid: bool = False,
) -> Scores:
    """Cosines and probabilities of pictures against labels.

    The probability is softmax(scale x cosine) over the labels, or sigmoid(scale x cosine + bias)
    of each. With a single label softmax would say 100 %, so there is none, and a note.

    Raises:
        InputError: if there is no picture or no label.
    """
    if not len(pictures):
        raise InputError("At least one picture was wanted; none came.")
    if not labels:
        raise InputError("At least one label was wanted; none came.")
    pictures = F.normalize(pictures.float(), dim=-1)
    per_template = F.normalize(per_template.float(), dim=-1)
    # Rounding takes the cosine of a vector with itself to 1.00000024.
    cosine = (pictures @ label_vectors(per_template).T).clamp(-1, 1)
    logits = scale * cosine + (bias or 0.0)
    if sigmoid:
        probability = torch.sigmoid(logits)
    else:
        probability = logits.softmax(dim=-1) if len(labels) > 1 else None
    return Scores(
        labels=tuple(labels),
        templates=tuple(templates),
        cosine=cosine.numpy(),
        probability=None if probability is None else probability.numpy(),
        by_template=(pictures @ per_template.mT).clamp(-1, 1).numpy(),
        scale=scale,
        bias=bias,
        sigmoid=sigmoid,
        note="" if probability is not None else ONE_LABEL,
    )
