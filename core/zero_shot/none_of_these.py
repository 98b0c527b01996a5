"""None of these: what a picture is called that no label fits.

A label that begins with '-', such as '-a blank page', is a negative one: it is scored like the
others, and a picture that it fits best is none of these. A least cosine does the same for pictures
whose best label is too far away. CLIP's probabilities always sum to 1 over the labels that it is
given, so without either something always fits.
"""

from core.zero_shot.labels.templates import NEGATIVE
from core.zero_shot.scores import Scores

NONE = "none of these"


def is_negative(label: str) -> bool:
    """Does a label stand for 'none of these'?"""
    return NEGATIVE.match(label) is not None


def decisions(scores: Scores, least_cosine: float | None = None) -> list[int | None]:
    """For each picture its first label, or None: a negative one, or below the least cosine."""
    found: list[int | None] = []
    for picture, label in enumerate(scores.best(1)[:, 0].tolist()):
        far = least_cosine is not None and float(scores.cosine[picture, label]) < least_cosine
        found.append(None if far or is_negative(scores.labels[label]) else label)
    return found


def decided(scores: Scores, least_cosine: float | None = None) -> list[str]:
    """The same in words."""
    return [
        NONE if label is None else scores.labels[label] for label in decisions(scores, least_cosine)
    ]
