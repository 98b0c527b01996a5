"""Alike: labels that a person tells apart and the tokenizer does not, such as 'cat' and 'Cat'.

And labels with words that it does not know.
"""

from collections.abc import Sequence

from core.models.clip.model import ClipModel
from core.zero_shot.labels.templates import fill


def read_alike(
    model: ClipModel, labels: Sequence[str], template: str
) -> tuple[tuple[str, str], ...]:
    """Pairs of labels, the one given first and another, that become the same tokens.

    They have the same cosine with every picture, and each takes its own share of a softmax. Told by
    their ids, whatever the spelling: two words that the model does not know read alike too.
    """
    ids = model.text.reading.ids([fill(template, label) for label in labels])
    first: dict[tuple[int, ...], str] = {}
    pairs = []
    for label, row in zip(labels, ids.tolist(), strict=True):
        other = first.setdefault(tuple(row), label)
        if other != label:
            pairs.append((other, label))
    return tuple(pairs)


def unknown_words(model: ClipModel, labels: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The labels with pieces that the tokenizer does not know, and these pieces."""
    found = {label: model.text.reading.tokens(label).unknown for label in labels}
    return {label: pieces for label, pieces in found.items() if pieces}
