"""Text that a tokenizer does not know is shown as what stood there, marked, and counted."""

import pytest

from core.models import load
from core.zero_shot.labels.alike import read_alike, unknown_words


@pytest.mark.weights
def test_chinese_in_minilm_is_shown_and_counted(fetched):
    fetched("minilm")
    # Of these characters minilm's vocabulary has 大 and 人, and not 猫, 狗 and 鬱.
    prepared = load("minilm", device="cpu").prepare("大猫 狗 鬱")
    labels = [position.label for position in prepared.groups[0].queries[0]]
    assert labels == ["[CLS]", "大", "[猫?]", "[狗?]", "[鬱?]", "[SEP]"]
    (note,) = prepared.notes
    assert note == (
        "3 of 6 tokens are unknown to 'minilm', marked [...?]: it reads all of them as one and the "
        "same token. 'smollm2' reads any writing."
    )


@pytest.mark.weights
def test_the_model_that_the_note_names_does_read_it(fetched):
    fetched("smollm2")
    prepared = load("smollm2", device="cpu").prepare("大猫 狗 鬱")
    assert prepared.notes == ()


@pytest.mark.weights
def test_unknown_words_of_labels_are_named_and_read_alike(fetched):
    fetched("clip-mini")
    model = load("clip-mini", device="cpu")
    assert unknown_words(model, ["猫", "a dog", "狗 and a dog"]) == {
        "猫": ("猫",),
        "狗 and a dog": ("狗",),
    }
    assert read_alike(model, ["猫", "狗", "a dog"], "a photo of a {}") == (("猫", "狗"),)
