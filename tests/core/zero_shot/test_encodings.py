"""Encodings: what was encoded once is not encoded again, within a bound, for any thread."""

import threading
from contextlib import contextmanager

import pytest
import torch

from core.bench.timing import seconds
from core.errors import InputError
from core.models.clip.model import PICTURES
from core.zero_shot import encodings as module
from core.zero_shot.encodings import ENTRY_BYTES, Encodings
from core.zero_shot.labels.templates import TEMPLATES, prompts
from tests.core.zero_shot import small


@pytest.fixture(scope="module")
def model():
    return small.clip()


def given(count):
    return [(f"digest {index}", each) for index, each in enumerate(small.pictures(count))]


def test_rows_are_the_model_s_own_in_the_order_asked_for(model):
    encodings, own = Encodings(), given(5)
    order = [own[index] for index in (3, 0, 3, 4)]
    expected = model.encode_pictures([picture for _, picture in order])
    torch.testing.assert_close(encodings.pictures(model, order), expected)
    texts = ["b", "a", "b"]
    torch.testing.assert_close(encodings.texts(model, texts), model.encode_texts(texts))


def test_only_what_is_new_is_encoded_and_twins_count_once(model):
    encodings, own = Encodings(), given(5)
    encodings.pictures(model, [own[0], own[1], own[0]])
    assert encodings.encoded_pictures == 2
    encodings.pictures(model, own)
    encodings.pictures(model, own[::-1])
    assert encodings.encoded_pictures == 5
    encodings.texts(model, ["a", "b", "a"])
    encodings.texts(model, ["b", "c"])
    assert encodings.encoded_texts == 3


def test_new_labels_for_the_same_pictures_encode_no_picture_again(model):
    encodings = Encodings()
    for labels in (("cat", "dog"), ("dog", "sea"), ("town",)):
        encodings.pictures(model, given(3))
        encodings.labels(model, labels, TEMPLATES["the 7 best"])
    assert encodings.encoded_pictures == 3
    assert encodings.encoded_texts == 4 * 7


def test_labels_have_an_axis_of_templates(model):
    labels, templates = ("cat", "dog", "sea"), ("{}", "a {}")
    found = Encodings().labels(model, labels, templates)
    assert found.shape == (2, 3, 13)
    torch.testing.assert_close(found.flatten(0, 1), model.encode_texts(prompts(labels, templates)))
    torch.testing.assert_close(found[1, 2], model.encode_texts(["a sea"])[0])


def test_another_mechanism_or_model_or_precision_is_another_vector(model):
    encodings, own = Encodings(), given(2)
    plain = encodings.pictures(model, own)
    linear = encodings.pictures(model, own, "linear")
    encodings.pictures(small.clip("another"), own)
    half = small.clip()
    half.dtype = torch.bfloat16
    encodings.pictures(half, own)
    assert encodings.encoded_pictures == 8
    assert not torch.allclose(plain, linear)
    torch.testing.assert_close(linear, model.encode_pictures(small.pictures(2), "linear"))


def test_what_is_held_is_bounded_and_the_oldest_goes(model):
    row = 13 * 4 + ENTRY_BYTES
    encodings, own = Encodings(limit_bytes=3 * row), given(4)
    encodings.pictures(model, own[:3])
    encodings.pictures(model, own[:1])
    encodings.pictures(model, own[3:])
    assert encodings.nbytes == 3 * row
    encodings.pictures(model, [own[0], own[2], own[3]])
    assert encodings.encoded_pictures == 4
    encodings.pictures(model, own[1:2])
    assert encodings.encoded_pictures == 5


def test_more_than_can_be_held_is_given_all_the_same(model):
    encodings = Encodings(limit_bytes=10)
    assert encodings.labels(model, ("a", "b"), ("{}", "a {}")).shape == (2, 2, 13)
    assert encodings.nbytes == 0


def stop(share):
    raise KeyboardInterrupt


def test_progress_is_the_share_of_what_is_missing(model):
    encodings, told = Encodings(), []
    texts = [f"text {index}" for index in range(130)]
    encodings.texts(model, texts, on_share=told.append)
    assert told == pytest.approx([64 / 130, 128 / 130, 1])
    told.clear()
    encodings.texts(model, ["new", *texts, "newer"], on_share=told.append)
    encodings.texts(model, texts, on_share=told.append)
    assert told == [1]


def test_a_stop_keeps_the_batches_that_are_done(model):
    encodings, own = Encodings(), given(37)
    with pytest.raises(KeyboardInterrupt):
        encodings.pictures(model, own, on_share=stop)
    assert encodings.encoded_pictures == PICTURES
    found = encodings.pictures(model, own)
    assert encodings.encoded_pictures == 37
    torch.testing.assert_close(found, model.encode_pictures(small.pictures(37)))
    labels = tuple(f"label {index}" for index in range(70))
    with pytest.raises(KeyboardInterrupt):
        encodings.labels(model, labels, ("{}",), on_share=stop)
    encodings.labels(model, labels, ("{}",))
    assert encodings.encoded_texts == 70


def test_only_missing_pictures_are_opened_and_few_at_a_time(model, monkeypatch):
    monkeypatch.setattr(module, "MAX_PIXELS", 3 * small.SIZE**2)
    monkeypatch.setitem(module.BATCH, "pictures", 16)
    encodings, own, events = Encodings(), given(7), []
    real = type(model).encode_pictures

    def encode_pictures(self, pictures, *arguments, **options):
        events.append(len(pictures))
        return real(self, pictures, *arguments, **options)

    def opens(digest, picture):
        return digest, lambda: (events.append(digest), picture)[1]

    monkeypatch.setattr(type(model), "encode_pictures", encode_pictures)
    encodings.pictures(model, own[:2])
    found = encodings.pictures(model, [opens(*each) for each in own])
    opened = [f"digest {index}" for index in range(2, 7)]
    assert events == [2, *opened[:3], 3, *opened[3:], 2]
    encodings.pictures(model, [opens(*each) for each in own])
    assert len(events) == 8
    torch.testing.assert_close(found, real(model, small.pictures(7)))


def test_a_picture_that_cannot_be_opened_is_told_and_the_batches_before_it_are_kept(model):
    def damaged():
        raise InputError("A whole picture was wanted; 'a.png' is cut off or damaged.")

    encodings, own = Encodings(), given(PICTURES)
    with pytest.raises(InputError, match=r"'a\.png' is cut off"):
        encodings.pictures(model, [*own, ("damaged", damaged)])
    encodings.pictures(model, own)
    assert encodings.encoded_pictures == PICTURES


def test_the_turn_is_given_up_between_batches(model):
    encodings, events = Encodings(), []

    @contextmanager
    def turn():
        events.append("in")
        yield
        events.append("out")

    encodings.pictures(model, given(PICTURES + 1), on_share=events.append, turn=turn)
    assert events == ["in", "out", PICTURES / (PICTURES + 1), "in", "out", 1]
    events.clear()
    encodings.labels(model, ("a", "b"), ("{}",), turn=turn)
    encodings.labels(model, ("a", "b"), ("{}",), turn=turn)
    encodings.pictures(model, given(PICTURES + 1), turn=turn)
    assert events == ["in", "out"]


def test_threads_share_one_store(model):
    encodings, own, found = Encodings(), given(5), {}

    def visit(name):
        found[name] = encodings.pictures(model, own)

    threads = [threading.Thread(target=visit, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(found[name], found[0]) for name in range(4))
    before = encodings.encoded_pictures
    encodings.pictures(model, own)
    assert encodings.encoded_pictures == before


def test_a_second_visit_of_150_labels_and_7_templates_takes_less_than_a_fiftieth(model):
    encodings = Encodings()
    labels = tuple(f"thing {index}" for index in range(150))

    def visit():
        encodings.labels(model, labels, TEMPLATES["the 7 best"])

    first = seconds(visit)
    assert seconds(visit) < first / 50
    assert encodings.encoded_texts == 1050


def test_no_picture_and_no_text_are_refused(model):
    with pytest.raises(InputError, match="At least one picture was wanted; none came"):
        Encodings().pictures(model, [])
    with pytest.raises(InputError, match="At least one text was wanted; none came"):
        Encodings().texts(model, [])
    with pytest.raises(InputError, match="At least one label and one template were wanted"):
        Encodings().labels(model, (), ("{}",))
