"""Cut labels: those whose end the tokenizer leaves out."""

from collections.abc import Sequence

from core.models.clip.model import ClipModel
from core.zero_shot.labels.templates import fill

MARKS = 4  # tokens beside the text's own: start, end and the like


def cut_labels(
    model: ClipModel, labels: Sequence[str], template: str
) -> dict[str, tuple[str, str]]:
    """What of each label that is too long is read, and what is cut, template included.

    Only labels that could be too long are tokenised, so that thousands of short ones cost nothing.
    """
    found = {}
    for label in labels:
        prompt = fill(template, label)
        # A token holds at least one byte: what is this short is never cut.
        if len(prompt.encode()) + MARKS > model.facts.context:
            read, cut = model.cut_words(prompt)
            if cut:
                found[label] = (read, cut)
    return found
