"""The catalogue, read from folders laid out as the fetched ones are."""

import json

import pytest
from PIL import Image

from core.models.clip_mini.training.catalogue import MOST_PIXELS, catalogue


def record(code, category="Animals & Nature", subcategory="animal-mammal", **sets):
    return {
        "unified": code,
        "non_qualified": None,
        "image": f"{code.lower()}.png",
        "category": category,
        "subcategory": subcategory,
        "has_img_google": True,
        "has_img_twitter": True,
        **sets,
    }


@pytest.fixture
def folders(tmp_path):
    records = [
        record("1F431"),
        record("1F42D", has_img_twitter=False),
        record("1F1EB", category="Flags"),
        record("0031", category="Symbols", subcategory="keycap"),
    ]
    words = {
        "🐱": ["cat_face", "meow", ":3", "cat_face"],
        "🐭": ["mouse"],
        "🇫": ["f"],
        "1": ["one"],
    }
    found = {name: tmp_path / name for name in ("google", "twitter", "emojilib", "openclipart")}
    for source in ("google", "twitter"):
        pictures = found[source] / "package/img" / source / "64"
        pictures.mkdir(parents=True)
        for one in records:
            Image.new("RGBA", (5, 5)).save(pictures / one["image"])
    (found["google"] / "package/emoji.json").write_text(json.dumps(records))
    (found["emojilib"] / "package/dist").mkdir(parents=True)
    (found["emojilib"] / "package/dist/emoji-en-US.json").write_text(json.dumps(words))
    for place in (
        "animals/cat_bartel_01",
        "animals/gatto",
        "computer/icons/mouse",
        "unsorted/Mouse",
    ):
        path = found["openclipart"] / f"usr/share/openclipart/png/{place}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGBA", (5, 5)).save(path)
    return found


def test_emoji_have_a_name_and_other_words(folders):
    cats = [item for item in catalogue(folders) if item.name == "cat face"]
    assert [item.source for item in cats] == ["google", "twitter"]
    assert cats[0].keywords == ("meow", "animal mammal")
    assert cats[0].heads == ("face",)


def test_only_pictures_that_are_there_and_mean_a_thing_are_listed(folders):
    listed = [(item.source, item.name) for item in catalogue(folders) if item.is_emoji]
    assert listed == [("google", "cat face"), ("twitter", "cat face"), ("google", "mouse")]


def test_drawings_are_named_by_their_file_and_folder(folders):
    drawings = [item for item in catalogue(folders) if not item.is_emoji]
    assert [(item.name, item.keywords) for item in drawings] == [
        ("cat", ("animal",)),
        ("mouse", ()),
    ]


def test_a_drawing_as_large_as_a_wall_is_left_out(folders):
    path = folders["openclipart"] / "usr/share/openclipart/png/animals/cat_big.png"
    Image.new("L", (MOST_PIXELS // 1000 + 1, 1000)).save(path)
    assert path not in [item.path for item in catalogue(folders)]
