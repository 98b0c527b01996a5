"""A look: pictures that are opened late, turns between batches, and labels that are read alike."""

from contextlib import contextmanager

import torch

from core.models.clip.model import PICTURES
from core.zero_shot.classification import classify
from core.zero_shot.encodings import Encodings
from tests.core.zero_shot import small

LABELS, TEMPLATES = ("cat", "dog", "Cat"), ("{}", "a photo of a {}")


def test_a_look_opens_only_new_pictures_takes_turns_and_tells_labels_read_alike():
    model, encodings, opened, turns = small.clip(), Encodings(), [], []

    @contextmanager
    def turn():
        turns.append(True)
        yield

    def opens(index, picture):
        return lambda: (opened.append(index), picture)[1]

    given = [(str(index), opens(index, each)) for index, each in enumerate(small.pictures(19))]
    for _ in range(2):
        found = classify(model, encodings, given, LABELS, TEMPLATES, turn=turn)
        assert opened == list(range(19))
        assert len(turns) == -(-19 // PICTURES) + 1  # batches of pictures, and one of texts
    assert found.alike == (("cat", "Cat"),)
    torch.testing.assert_close(found.pictures, model.encode_pictures(small.pictures(19)))
