"""Alike: labels that a person tells apart and the tokenizer does not, such as 'cat' and 'Cat'."""

from collections.abc import Sequence

from core.models.clip.model import ClipModel
from core.zero_shot.labels.templates import fill


def read_alike(
    model: ClipModel, labels: Sequence[str], template: str
) -> tuple[tuple[str, str], ...]:
    """Pairs of labels, the one given first and another, that become the same tokens.

    They have the same cosine with every picture, and each takes its own share of a softmax. Only
    labels that are equal but for letter case are tokenised, so that thousands of others cost
    nothing.
    """
    folded: dict[str, list[str]] = {}
    for label in labels:
        folded.setdefault(label.casefold(), []).append(label)
    found = []
    for group in folded.values():
        if len(group) > 1:
            found += _same(model, group, template)
    return tuple(found)


def _same(model: ClipModel, group: Sequence[str], template: str) -> list[tuple[str, str]]:
    ids = model.text.reading.ids([fill(template, label) for label in group])
    first: dict[tuple[int, ...], str] = {}
    pairs = []
    for label, row in zip(group, ids.tolist(), strict=True):
        other = first.setdefault(tuple(row), label)
        if other != label:
            pairs.append((other, label))
    return pairs
