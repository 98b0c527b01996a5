"""Concepts: names and nouns of pictures, and splits that share no noun."""

from pathlib import Path

import pytest

from core.models.clip_mini.training.catalogue import Item, file_words, head_noun, singular
from core.models.clip_mini.training.preparing import grouped
from core.models.clip_mini.training.splits import (
    FOLDS,
    HELD_OUT,
    MOST_NAMES,
    VALIDATION,
    captions,
    fold,
    split,
)


def emoji(name: str, *keywords: str) -> Item:
    return Item(Path(f"{name}.png"), "google", name, (head_noun(name),), keywords)


def drawing(name: str, *heads: str) -> Item:
    return Item(Path(f"{name}.png"), "openclipart", name, heads, ())


NOUNS = [f"{letter}{other}t" for letter in "abcdefghijkl" for other in "aeiou"]
ITEMS = [emoji(f"{colour} {noun}") for noun in NOUNS for colour in ("red", "blue")]


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("cat with tears of joy", "cat"),
        ("sun behind cloud", "sun"),
        ("red apple", "apple"),
        ("family: man, woman", "family"),
        ("oncoming bus", "bus"),
        ("grapes", "grape"),
        ("on", "on"),
    ],
)
def test_head_noun(name, noun):
    assert head_noun(name) == noun


@pytest.mark.parametrize(
    ("word", "one"),
    [("cherries", "cherry"), ("boxes", "box"), ("glass", "glass"), ("cats", "cat"), ("gas", "gas")],
)
def test_singular(word, one):
    assert singular(word) == one


def test_a_file_name_is_read_up_to_its_artist():
    known = frozenset({"light", "bulb", "karl"})
    assert file_words("light_bulb_bartel_karl_01", known) == ["light", "bulb"]
    assert file_words("canguro_01", known) == []


def test_training_and_measured_pictures_share_no_noun():
    parts = split(ITEMS, HELD_OUT, VALIDATION)
    trained = {ITEMS[index].heads[0] for index in parts.train}
    measured = {ITEMS[index].heads[0] for index in parts.measured}
    assert trained
    assert measured
    assert not trained & measured


def test_all_pictures_of_a_noun_lie_on_one_side():
    parts = split(ITEMS, HELD_OUT, frozenset())
    assert len(parts.train) + len(parts.measured) == len(ITEMS)
    assert len(parts.train) % 2 == len(parts.measured) % 2 == 0


def test_a_drawing_that_shows_a_held_out_noun_beside_another_is_not_learned_from():
    held = ITEMS[split(ITEMS, HELD_OUT, frozenset()).measured[0]].heads[0]
    items = [*ITEMS, drawing("both", "zzz", held), drawing("neither", "face")]
    parts = split(items, HELD_OUT, frozenset())
    assert len(ITEMS) not in parts.train
    assert len(ITEMS) not in parts.measured


def test_a_noun_of_very_many_names_is_always_learned_from():
    assert all(fold(noun, MOST_NAMES + 1) == FOLDS - 1 for noun in NOUNS)
    assert FOLDS - 1 not in HELD_OUT | VALIDATION


def test_no_caption_says_a_held_out_name_or_noun():
    parts = split(ITEMS, HELD_OUT, frozenset())
    hidden = ITEMS[parts.measured[0]]
    item = emoji("purple face", "smile", hidden.heads[0], hidden.name)
    assert captions(item, parts.words) == ("purple face", "smile")


def test_groups_of_four_are_of_different_nouns_and_use_every_picture():
    heads = ["cat", "cat", "dog", "cow", "pig", "hen", "owl"]
    groups = grouped(heads, 14, seed=0)
    assert all(len({heads[place] for place in group}) == 4 for group in groups)
    assert {place for group in groups for place in group} == set(range(7))
    assert groups == grouped(heads, 14, seed=0)


def test_too_few_nouns_for_a_group_are_refused():
    with pytest.raises(ValueError, match="4 different heads were wanted; 3 came"):
        grouped(["cat", "dog", "cow", "cow"], 2, seed=0)
