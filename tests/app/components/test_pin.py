"""The pin stays with its token: by what it reads, wherever a map has it."""

from types import SimpleNamespace

import pytest

from app.components.heads.pins import bare, pinned
from app.components.state import Pin
from core.types import Position


def panel(pin, *labels):
    view = SimpleNamespace(queries=tuple(Position(label) for label in labels))
    return SimpleNamespace(view=view, state=SimpleNamespace(heads=SimpleNamespace(pin=pin)))


@pytest.mark.parametrize(
    ("pin", "labels", "row"),
    [
        (Pin("it"), ("[CLS]", "so", "it", "was"), 2),
        (Pin("it"), ("so", "␣it", "␣was"), 1),  # another tokenizer
        (Pin("it"), ("so", "was"), None),  # the token is gone
        (Pin("a", 1), ("a", "cat", "and", "a", "dog"), 3),  # the second of two
        (Pin("a", 1), ("a", "cat"), 0),
        (Pin("was"), ("wash", "##was"), 1),
        (Pin(None), ("[CLS]", "it"), None),  # let go: the sample's does not come back
        (None, ("[CLS]", "it"), 1),  # at first, the sample's
    ],
)
def test_the_row_of_a_pinned_token(pin, labels, row):
    assert pinned(panel(pin, *labels), "it") == row


def test_a_space_is_a_token_too():
    assert bare("␣") == "␣"
