"""'None of these' by negative labels and a least cosine; pictures sorted into a folder a label."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from core.__main__ import main
from core.zero_shot.folders.sorting import folder_name, moves, sort
from core.zero_shot.labels.templates import fill, with_article
from core.zero_shot.none_of_these import NONE, decided, is_negative
from core.zero_shot.scores import score
from tests.core.zero_shot import small


@pytest.mark.parametrize(
    ("label", "prompt"),
    [
        ("cup of coffee", "a photo of a cup of coffee"),
        ("a cup of coffee", "a photo of a cup of coffee"),
        ("An apple", "a photo of An apple"),
        ("the moon", "a photo of the moon"),
        ("two dogs", "a photo of two dogs"),
        ("anchor", "a photo of a anchor"),  # as CLIP's own templates have it
        ("-a blank page", "a photo of a blank page"),
        ("- blurry", "a photo of a blurry"),
        ("-5", "a photo of a -5"),
    ],
)
def test_a_label_that_brings_its_article_takes_the_templates_place(label, prompt):
    assert fill("a photo of a {}", label) == prompt
    assert fill("{}", "a cup") == "a cup"
    assert fill("a photo of the large {}", "a cup") == "a photo of the large a cup"


def test_labels_with_articles_are_noticed_where_a_template_has_one():
    labels = ("a cup", "cat", "the moon")
    assert with_article(labels, ("a photo of a {}",)) == ["a cup", "the moon"]
    assert with_article(labels, ("{}", "photo: {}")) == []


def test_what_fits_no_label_is_none_of_these():
    # Cosines by hand: the pictures are unit vectors, the labels the axes.
    pictures = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0.6, 0.0, 0.8], [0.5, 0.0, 0.1]])
    pictures = torch.nn.functional.normalize(pictures, dim=-1)
    labels = ("cat", "dog", "-blank page")
    scores = score(
        pictures, torch.eye(3)[None], labels=labels, templates=("{}",), scale=10.0, bias=None,
        sigmoid=False,
    )  # fmt: skip
    assert decided(scores) == ["cat", "dog", NONE, "cat"]
    assert decided(scores, least_cosine=0.99) == ["cat", "dog", NONE, NONE]  # 0.5 / 0.51 = 0.98
    assert [is_negative(label) for label in (*labels, "-5", "semi-dry")] == [
        False,
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("label", "name"),
    [
        ("a/b\\c", "a_b_c"), ("what?", "what_"), ("..", "_"), ("  cat. ", "cat"), ("CON", "CON_"),
        ("lpt1.txt", "lpt1.txt_"), ("猫", "猫"), ("x" * 300, "x" * 100), ("猫" * 60, "猫" * 33),
    ],
)  # fmt: skip
def test_labels_are_names_of_folders_on_every_system(label, name):
    assert folder_name(label) == name


@pytest.fixture
def photos(tmp_path):
    (tmp_path / "photos" / "more").mkdir(parents=True)
    for index, name in enumerate(("a.png", "more/a.png", "b.png")):
        (tmp_path / "photos" / name).write_bytes(bytes([index]) * 9)
    return tmp_path / "photos"


@pytest.mark.parametrize("how", ["copy", "hard", "symbolic"])
def test_nothing_is_overwritten_and_a_second_run_puts_nothing_twice(photos, tmp_path, how):
    into = tmp_path / "sorted"
    given = [(photos / "a.png", "Cat"), (photos / "more/a.png", "Cat"), (photos / "b.png", "cat")]
    plan = list(moves(given, into))
    targets = [move.target.relative_to(into).as_posix() for move in plan]
    assert targets == ["Cat/a.png", "Cat/a 2.png", "cat 2/b.png"]  # one folder where case is one
    sort(plan, how)
    for (source, _), target in zip(given, targets, strict=True):
        assert (into / target).read_bytes() == source.read_bytes()
    assert (into / "Cat/a.png").is_symlink() == (how == "symbolic")
    assert (into / "Cat/a.png").samefile(photos / "a.png") == (how != "copy")
    again = list(moves(given, into))
    assert [move.target for move in again] == [move.target for move in plan]
    assert all(move.there for move in again)
    # A file of the visitor's own that lies there is left alone.
    (into / "cat 2/b.png").unlink()
    (into / "cat 2/b.png").write_bytes(b"mine")
    sort(moves(given, into), how)
    assert (into / "cat 2/b.png").read_bytes() == b"mine"
    assert (into / "cat 2/b 2.png").read_bytes() == bytes([2]) * 9


@pytest.fixture
def command(tmp_path, capsys):
    small.save(tmp_path / "model")
    folder = tmp_path / "in"
    folder.mkdir()
    for picture in small.pictures(4):
        picture.pixels.save(folder / picture.name)
    (folder / "bad.png").write_bytes(b"no picture")

    def run(*options):
        arguments = ["label", folder, "--labels", "cat,-dog", "--out", tmp_path / "out.csv",
                     "--model", tmp_path / "model", "--device", "cpu", *options]  # fmt: skip
        code = main([str(each) for each in arguments])
        return code, capsys.readouterr().out, tmp_path

    return run


def test_a_dry_run_says_what_would_happen_and_writes_nothing(command):
    code, said, place = command("--into", "SORTED", "--dry-run")
    assert code == 0
    assert said.count(" -> SORTED/") == 4
    assert "nothing was written: 4 pictures read; 1 not readable" in said
    assert not (place / "out.csv").exists()
    assert not Path("SORTED").exists()


def test_pictures_are_sorted_by_what_the_table_calls_them(command):
    into_options = ("--least-cosine", "-1", "--link", "hard")
    code, said, place = command("--into", "nowhere", "--dry-run", *into_options)
    assert code == 0
    into = place / "sorted"
    code, said, _ = command("--into", into, *into_options)
    assert f"{into}: 4 pictures put, 0 there already" in said
    table = pd.read_csv(place / "out.csv").dropna(subset=["decision"])
    found = {path.name: path.parent.name for path in into.rglob("*.png")}
    assert found == dict(zip(table["file"], table["decision"], strict=True))
    assert set(table["decision"]) <= {"cat", NONE}
    best = np.where(table["label_1"] == "-dog", NONE, table["label_1"])
    assert list(table["decision"]) == list(best)
    code, said, _ = command("--into", into, *into_options)
    assert f"{into}: 0 pictures put, 4 there already" in said
