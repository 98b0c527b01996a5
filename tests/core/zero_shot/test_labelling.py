"""Labelling a folder: batched, continued after a stop, and not stopped by a bad file."""

import numpy as np
import pandas as pd
import pytest

from core.errors import InputError, MechanismError
from core.models.clip.model import ClipModel
from core.zero_shot.folders import pictures as folders
from core.zero_shot.folders.labelling import Job, label_folder, rank_folder
from core.zero_shot.folders.pictures import pictures_in
from tests.core.zero_shot import small

LABELS = ("cat", "a dog, old", "sea")


@pytest.fixture(scope="module")
def model():
    return small.clip()


@pytest.fixture
def folder(tmp_path):
    """Seven pictures in two folders, a text and hidden files."""
    place = tmp_path / "photos"
    (place / "b").mkdir(parents=True)
    (place / ".hidden").mkdir()
    for index, picture in enumerate(small.pictures(7)):
        name = f"{index}.png" if index < 4 else f"b/é {index}.PNG"
        picture.pixels.save(place / name, format="PNG")
    (place / "notes.txt").write_text("no picture")
    (place / "._0.png").write_text("no picture")
    (place / ".hidden" / "c.png").write_text("no picture")
    return place


NAMES = ["0.png", "1.png", "2.png", "3.png", "b/é 4.PNG", "b/é 5.PNG", "b/é 6.PNG"]


def job(folder, **own):
    values = {"templates": ("a photo of a {}",), "batch": 3, "top": 2}
    return Job(folder=folder, out=folder.parent / "labels.csv", **(values | own))


def read(job):
    return pd.read_csv(job.out)


def test_every_picture_has_a_row_with_its_first_labels(model, folder):
    told = []
    done = label_folder(model, job(folder), LABELS, told.append)
    assert done == (7, 0, 0)
    assert told == pytest.approx([3 / 7, 6 / 7, 1])
    found = read(job(folder))
    assert list(found["file"]) == NAMES
    assert list(found.columns) == [
        "file", "decision",
        "label_1", "cosine_1", "probability_1", "label_2", "cosine_2", "probability_2",
        "cosine_margin", "probability_margin", "error",
        "folder", "model", "mechanism", "precision", "templates", "probability", "labels",
        "least_cosine",
    ]  # fmt: skip
    # The second label brings its article.
    texts = model.encode_texts(["a photo of a cat", "a photo of a dog, old", "a photo of a sea"])
    cosines = (model.encode_pictures(small.pictures(7)) @ texts.T).numpy()
    order = np.argsort(-cosines, axis=1)
    assert list(found["label_1"]) == [LABELS[index] for index in order[:, 0]]
    first, second, _ = -np.sort(-cosines, axis=1).T
    np.testing.assert_allclose(found["cosine_1"], first, atol=1e-5)
    np.testing.assert_allclose(found["cosine_margin"], first - second, atol=1e-5)
    exponents = np.exp(model.scale * cosines)
    expected = exponents.max(axis=1) / exponents.sum(axis=1)
    np.testing.assert_allclose(found["probability_1"], expected, atol=1e-4)
    assert set(found["labels"]) == {"cat | a dog, old | sea"}
    assert found["error"].isna().all()


def test_one_label_has_a_cosine_only(model, folder):
    label_folder(model, job(folder), ("cat",))
    found = read(job(folder))
    assert "label_2" not in found
    assert found["cosine_1"].notna().all()
    assert found[["probability_1", "probability_margin", "cosine_margin"]].isna().all(axis=None)


def test_a_labelling_that_was_stopped_goes_on_and_ends_with_the_same_rows(model, folder):
    whole = job(folder, batch=2)
    label_folder(model, whole, LABELS)
    expected = read(whole)
    whole.out.unlink()

    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        label_folder(model, whole, LABELS, stop)
    assert list(read(whole)["file"]) == NAMES[:2]
    assert label_folder(model, whole, LABELS) == (5, 2, 0)
    pd.testing.assert_frame_equal(read(whole), expected)
    assert label_folder(model, whole, LABELS) == (0, 7, 0)
    pd.testing.assert_frame_equal(read(whole), expected)


def test_a_cut_off_anywhere_loses_at_most_the_last_row(model, folder):
    whole = job(folder)
    label_folder(model, whole, LABELS)
    data, expected = whole.out.read_bytes(), read(whole)
    last = data.rindex(b"\n", 0, -1) + 1
    for length in range(last, len(data), 43):
        whole.out.write_bytes(data[:length])
        assert label_folder(model, whole, LABELS) == (1, 6, 0)
        pd.testing.assert_frame_equal(read(whole), expected)


def test_a_new_picture_is_added_and_the_old_ones_are_not_read_again(model, folder, monkeypatch):
    label_folder(model, job(folder), LABELS)
    opened = []
    real = folders.open_picture
    monkeypatch.setattr(
        folders, "open_picture", lambda path, name: (opened.append(name), real(path, name))[1]
    )
    small.pictures(1)[0].pixels.save(folder / "00.png")
    assert label_folder(model, job(folder), LABELS) == (1, 7, 0)
    assert opened == ["00.png"]


def test_one_bad_file_has_its_sentence_and_is_tried_again(model, folder):
    good = (folder / "2.png").read_bytes()
    (folder / "2.png").write_bytes(good[:99])
    (folder / "3.png").write_text("no picture")
    assert label_folder(model, job(folder), LABELS) == (5, 0, 2)
    found = read(job(folder)).set_index("file")
    assert list(found.index) == NAMES
    assert found.loc["2.png", "error"].startswith("A whole picture was wanted; '2.png' is cut off")
    assert found.loc["3.png", "error"].startswith("A PNG, JPEG")
    assert pd.isna(found.loc["2.png", "label_1"])
    assert found.loc["b/é 4.PNG", "label_1"] in LABELS
    (folder / "2.png").write_bytes(good)
    assert label_folder(model, job(folder), LABELS) == (1, 5, 1)
    assert sorted(read(job(folder))["file"]) == sorted(NAMES)


def test_a_picture_that_the_model_refuses_does_not_stop_its_batch(model, folder, monkeypatch):
    real = ClipModel.encode_pictures

    def refusing(self, pictures, *arguments, **own):
        if any(picture.name == "1.png" for picture in pictures):
            raise InputError("'1.png' was refused.")
        return real(self, pictures, *arguments, **own)

    monkeypatch.setattr(ClipModel, "encode_pictures", refusing)
    assert label_folder(model, job(folder), LABELS) == (6, 0, 1)
    errors = read(job(folder)).set_index("file")["error"].dropna()
    assert dict(errors) == {"1.png": "'1.png' was refused."}


def test_a_mechanism_that_cannot_run_stops_at_once(model, folder, monkeypatch):
    def refusing(self, pictures, *arguments, **own):
        raise MechanismError("not with this mask")

    monkeypatch.setattr(ClipModel, "encode_pictures", refusing)
    with pytest.raises(MechanismError):
        label_folder(model, job(folder), LABELS)


@pytest.mark.parametrize(
    ("own", "labels", "said"),
    [({"mechanism": "linear"}, LABELS, "The mechanism of"),
     ({"templates": ("{}",)}, LABELS, "The templates of"),
     ({"templates": tuple(f"{index} {{}}" for index in range(40))}, LABELS, "The templates of"),
     ({}, ("cat", "dog", "sea"), "The labels of"),
     ({}, LABELS[:2], r"The labels of '.*' are 'cat \| a dog, old \| sea', and 'cat \| a"),
     ({}, LABELS[:1], r"The labels of '.*' are 'cat \| a dog, old \| sea', and 'cat' came"),
     ({"top": 1}, LABELS, "A new file, or a table with the same columns")],
)  # fmt: skip
def test_other_settings_are_refused_and_the_table_is_left_alone(model, folder, own, labels, said):
    label_folder(model, job(folder), LABELS)
    before = job(folder).out.read_bytes()
    with pytest.raises(InputError, match=said):
        label_folder(model, job(folder, **own), labels)
    assert job(folder).out.read_bytes() == before
    assert sorted(path.name for path in folder.parent.iterdir()) == ["labels.csv", "photos"]


def test_long_lists_are_told_apart_by_a_digest(model, folder):
    labels = tuple(f"thing {index}" for index in range(200))
    label_folder(model, job(folder), labels)
    with pytest.raises(InputError, match=r"The labels of .* are '200 labels \(\w{8}\)'"):
        label_folder(model, job(folder), labels[::-1])


@pytest.mark.parametrize(
    "data",
    [b"hello", b"hello\n", b"a,b\r\n1,2\r\n", b"\x89PNG\r\n\x00\x01",
     b'file,"' + b"x" * 200_000 + b"\n"],
)  # fmt: skip
def test_a_file_of_another_kind_is_never_overwritten(model, folder, data):
    job(folder).out.write_bytes(data)
    with pytest.raises(InputError, match="table"):
        label_folder(model, job(folder), LABELS)
    with pytest.raises(InputError, match="table"):
        rank_folder(model, job(folder), "cat")
    assert job(folder).out.read_bytes() == data


def test_formulas_are_made_plain_and_such_a_table_goes_on(model, folder):
    (folder / "0.png").rename(folder / "=0.png")
    labels = ("=1+1", "'=1+1", "@me", "-5", "'quoted'")
    asked = job(folder, top=5, templates=("+{}",))
    told = []
    assert label_folder(model, asked, labels, on_texts=told.append) == (7, 0, 0)
    assert told == [1]
    found = read(asked)
    assert "'=0.png" in set(found["file"])
    expected = {"'=1+1", "''=1+1", "'@me", "'-5", "'quoted'"}
    assert {found.loc[0, f"label_{rank}"] for rank in range(1, 6)} == expected
    assert set(found["templates"]) == {"'+{}"}
    assert label_folder(model, asked, labels) == (0, 7, 0)
    with pytest.raises(InputError, match=r"The templates of .* are '\+\{\}', and '-\{\}' came"):
        label_folder(model, job(folder, top=5, templates=("-{}",)), labels)


def test_an_empty_file_is_filled(model, folder):
    job(folder).out.touch()
    assert label_folder(model, job(folder), LABELS) == (7, 0, 0)


def test_names_that_are_no_unicode_are_continued_too(model, folder):
    (folder / "0.png").rename(folder / "caf\udce9.png")
    assert label_folder(model, job(folder), LABELS) == (7, 0, 0)
    assert label_folder(model, job(folder), LABELS) == (0, 7, 0)
    assert "caf\\udce9.png" in set(read(job(folder))["file"])


def test_large_pictures_shrink_the_batch(model, folder, monkeypatch):
    monkeypatch.setattr(folders, "MAX_PIXELS", 2 * small.SIZE**2)
    told = []
    label_folder(model, job(folder), LABELS, told.append)
    assert told == pytest.approx([2 / 7, 4 / 7, 6 / 7, 1])


def test_pictures_are_ranked_by_words_and_bad_files_come_last(model, folder):
    (folder / "1.png").write_text("no picture")
    asked = job(folder, templates=("{}",))
    for _ in range(2):  # an earlier ranking is replaced
        assert rank_folder(model, asked, "  the old   town ") == (6, 0, 1)
    found = read(asked)
    kept = [index for index in range(7) if index != 1]
    pictures = [small.pictures(7)[index] for index in kept]
    cosines = (model.encode_pictures(pictures) @ model.encode_texts(["the old town"])[0]).numpy()
    order = np.argsort(-cosines)
    assert list(found["file"]) == [*(NAMES[kept[index]] for index in order), "1.png"]
    assert list(found["rank"][:6]) == [1, 2, 3, 4, 5, 6]
    np.testing.assert_allclose(found["cosine"][:6], cosines[order], atol=1e-5)
    assert found["error"].notna().tolist() == [False] * 6 + [True]
    assert set(found["words"]) == {"the old town"}


def test_what_cannot_be_done_is_refused(model, folder, tmp_path):
    with pytest.raises(InputError, match="A folder of pictures was wanted; '.*nothing' is none"):
        pictures_in(tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="Pictures were wanted; no file in '.*empty' ends in .png"):
        pictures_in(tmp_path / "empty")
    with pytest.raises(InputError, match="A batch of at least 1 was wanted; 0 came"):
        job(folder, batch=0)
    with pytest.raises(InputError, match="A top of at least 1 was wanted; -1 came"):
        job(folder, top=-1)
    with pytest.raises(InputError, match="Type at least one word"):
        rank_folder(model, job(folder), "  ")
    with pytest.raises(InputError, match="cannot be written: No such file or directory"):
        label_folder(model, Job(folder, tmp_path / "no" / "a.csv", ("{}",)), LABELS)
    with pytest.raises(InputError, match="cannot be read: Is a directory"):
        label_folder(model, Job(folder, tmp_path, ("{}",)), LABELS)
