"""Look: pictures and labels through one model, with every score, and what a mechanism changed.

Source: Radford et al. 2021, section 3.1, https://arxiv.org/abs/2103.00020
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.models.clip import ClipFacts, ClipModel
from core.zero_shot.encodings import Encodings, PictureSource, Tell, Turn
from core.zero_shot.labels.alike import read_alike, unknown_words
from core.zero_shot.labels.cut import cut_labels
from core.zero_shot.scores import Scores, label_vectors, score


@dataclass(frozen=True)
class Change:
    """What routing the image and text towers through another mechanism did."""

    own_first: tuple[int, ...]  # per picture: the first label by the model's own kernel
    cosine: Float[np.ndarray, " picture"]  # of each picture's vector with the model's own
    count: int  # of pictures whose first label is another one now


@dataclass(frozen=True)
class Classification:
    """Every score of pictures against labels, and the vectors that they come from."""

    facts: ClipFacts
    scores: Scores
    pictures: Float[Tensor, "picture dim"]  # rows of length 1
    texts: Float[Tensor, "label dim"]  # rows of length 1, templates averaged
    cut: dict[str, tuple[str, str]]  # label -> what of its longest prompt is read, what is not
    alike: tuple[tuple[str, str], ...]  # labels that are the same tokens to the model
    unknown: dict[str, tuple[str, ...]]  # label -> pieces of it that the model does not know
    change: Change | None  # None: the model's own kernel ran

    def among_pictures(self) -> Float[np.ndarray, "picture picture"]:
        """The cosine of every picture with every picture."""
        return (self.pictures @ self.pictures.T).clamp(-1, 1).numpy()

    def among_texts(self) -> Float[np.ndarray, "label label"]:
        """The cosine of every label with every label."""
        return (self.texts @ self.texts.T).clamp(-1, 1).numpy()


def classify(
    model: ClipModel,
    encodings: Encodings,
    pictures: Sequence[tuple[str, PictureSource]],
    labels: Sequence[str],
    templates: Sequence[str],
    *,
    mechanism: str | None = None,
    on_pictures: Tell | None = None,
    on_texts: Tell | None = None,
    turn: Turn | None = None,
) -> Classification:
    """Score pictures against labels; only what is new is encoded, and kept even after a stop.

    Args:
        model: whose two towers encode.
        encodings: where the vectors are kept.
        pictures: a digest and a picture each, or what opens it: called only if its vector is new.
        labels: texts that differ from each other.
        templates: sentences with {} in the place of the label.
        mechanism: name in MECHANISMS; the model's own kernel then runs too, to tell the change.
        on_pictures: told the share of the missing pictures that is done; may raise to stop.
        on_texts: the same of prompts.
        turn: makes a context that is entered around each batch, such as a place in a queue.

    Raises:
        InputError: if there is no picture or no label, or the mechanism does not fit the model.
    """
    for what, items in (("picture", pictures), ("label", labels)):
        if not items:
            raise InputError(f"At least one {what} was wanted; none came.")

    def by(mechanism: str | None) -> tuple[Tensor, Tensor, Scores]:
        seen = encodings.pictures(model, pictures, mechanism, on_pictures, turn=turn)
        read = encodings.labels(model, labels, templates, mechanism, on_texts, turn=turn)
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
    longest = max(templates, key=len)
    cut, alike = cut_labels(model, labels, longest), read_alike(model, labels, longest)
    unknown, vectors = unknown_words(model, labels), label_vectors(read)
    return Classification(model.facts, scores, seen, vectors, cut, alike, unknown, change)
