"""Look: pictures and labels through one model, with every score, and what a mechanism changed.

Source: Radford et al. 2021, section 3.1, https://arxiv.org/abs/2103.00020
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.models.clip import ClipFacts, ClipModel
from core.models.images import Picture
from core.zero_shot.cut import cut_labels
from core.zero_shot.encodings import Encodings
from core.zero_shot.scores import Scores, label_vectors, score

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Change:
    """What routing the image and text towers through another mechanism did."""

    own_first: tuple[int, ...]  # per picture: the first label by the model's own kernel
    cosine: Float[np.ndarray, " picture"]  # of each picture's vector with the model's own
    count: int  # of pictures whose first label is another one now


@dataclass(frozen=True)
class Look:
    """Every score of pictures against labels, and the vectors that they come from."""

    facts: ClipFacts
    scores: Scores
    pictures: Float[Tensor, "picture dim"]  # rows of length 1
    texts: Float[Tensor, "label dim"]  # rows of length 1, templates averaged
    cut: dict[str, tuple[str, str]]  # label -> what of its longest prompt is read, what is not
    change: Change | None  # None: the model's own kernel ran

    def among_pictures(self) -> Float[np.ndarray, "picture picture"]:
        """The cosine of every picture with every picture."""
        return (self.pictures @ self.pictures.T).numpy()

    def among_texts(self) -> Float[np.ndarray, "label label"]:
        """The cosine of every label with every label."""
        return (self.texts @ self.texts.T).numpy()


def look(
    model: ClipModel,
    encodings: Encodings,
    pictures: Sequence[tuple[str, Picture]],
    labels: Sequence[str],
    templates: Sequence[str],
    *,
    mechanism: str | None = None,
    on_pictures: Progress | None = None,
    on_texts: Progress | None = None,
) -> Look:
    """Score pictures (digest and pixels) against labels; only what is new is encoded.

    Raises:
        InputError: if there is no picture or no label, or the mechanism does not fit the model.
    """
    for what, given in (("picture", pictures), ("label", labels)):
        if not given:
            raise InputError(f"At least one {what} was wanted; none came.")

    def by(mechanism: str | None) -> tuple[Tensor, Tensor, Scores]:
        seen = encodings.pictures(model, pictures, mechanism, on_pictures)
        read = encodings.labels(model, labels, templates, mechanism, on_texts)
        scores = score(
            seen, read, labels=labels, templates=templates,
            scale=model.scale, bias=model.bias, sigmoid=model.sigmoid,
        )  # fmt: skip
        return seen, read, scores

    seen, read, scores = by(mechanism)
    change = None
    if mechanism is not None:
        own_seen, _, own = by(None)
        first = tuple(own.best(1)[:, 0].tolist())
        count = int((own.best(1) != scores.best(1)).sum())
        change = Change(first, (own_seen * seen).sum(dim=1).numpy(), count)
    cut = cut_labels(model, labels, max(templates, key=len))
    return Look(model.facts, scores, seen, label_vectors(read), cut, change)
