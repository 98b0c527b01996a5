"""The table of `bench clip`: what it counts and measures, on a tiny model."""

import pytest

from core.bench.bars import clip
from tests.core.zero_shot import small


@pytest.fixture(scope="module")
def model():
    return small.clip()


def test_no_picture_is_encoded_again_for_new_labels(model):
    line = clip.encoded_again(model)
    assert (line.value.median, line.bar, line.met) == (0, 0, True)


def test_pieces_of_photographs_are_all_different():
    found = clip.crops(9)
    assert len({picture.pixels.tobytes() for picture in found}) == 9
    assert {picture.size for picture in found} == {(224, 224)}


@pytest.mark.parametrize("method", ["similarity", "relevance"])
def test_a_click_is_measured_in_milliseconds(model, method):
    line = clip.heat(model, method)
    assert (line.unit, line.bar) == ("ms", 300)
    assert line.value.median > 0


def test_memory_is_looked_at_early_and_at_the_end(model, monkeypatch, tmp_path):
    monkeypatch.setattr(clip, "load", lambda name, device: model)
    monkeypatch.setattr(clip, "keep_freed_memory", lambda: True)
    monkeypatch.setattr(clip, "MANY", 40)
    monkeypatch.setattr(clip, "EARLY", 16)
    for index, picture in enumerate(small.pictures(40)):
        picture.pixels.save(tmp_path / f"{index}.png")
    early, end = clip.labelling_memory(tmp_path)
    assert early > 10**7
    assert end < 1.5 * early
