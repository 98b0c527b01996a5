"""`python -m core label`: from a folder to a table, and one sentence for what cannot be done."""

import pandas as pd
import pytest

from core.__main__ import main, parser
from core.zero_shot.folders import labelling
from tests.core.zero_shot import small


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-clip"
    small.save(folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "photos"
    place.mkdir()
    for picture in small.pictures(5):
        picture.pixels.save(place / picture.name)
    return place


@pytest.fixture
def run(capsys, folder, model, tmp_path):
    """Run the command: exit code, what it said, and the table that it wrote."""
    out = tmp_path / "labels.csv"

    def command(*options, of=folder):
        arguments = ["label", of, "--out", out, "--model", model, "--device", "cpu", *options]
        code = main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err, out

    return command


def refused(run, *options, **own):
    code, out, err, path = run(*options, **own)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    assert not path.exists()
    return err.rstrip("\n")


def test_labels_between_commas_label_every_picture(run):
    code, said, err, out = run("--labels", "cat, dog,{sea}", "--top", 2, "--batch", 2)
    assert (code, said, err) == (0, f"{out}: 5 pictures read\n", "")
    found = pd.read_csv(out)
    assert list(found["file"]) == [f"{index}.png" for index in range(5)]
    assert set(found["labels"]) == {"cat | dog | {sea}"}
    assert set(found["templates"]) == {"a photo of a {}"}
    assert "label_2" in found
    assert "label_3" not in found


@pytest.mark.parametrize(
    ("name", "data"),
    [("names.txt", "cat\nhot dog, old\n"), ("names.CSV", 'id,label\n1,cat\n2,"hot dog, old"')],
)
def test_labels_and_templates_of_files(run, tmp_path, name, data):
    (tmp_path / name).write_text(data)
    (tmp_path / "own.txt").write_text("{}\na drawing of {}\n")
    own = ("--labels", tmp_path / name, "--templates", tmp_path / "own.txt")
    code, _, err, out = run(*own)
    assert (code, err) == (0, "")
    found = pd.read_csv(out)
    assert set(found["labels"]) == {"cat | hot dog, old"}
    assert set(found["templates"]) == {"{} | a drawing of {}"}


def test_a_ready_list_and_named_templates(run):
    assert run("--labels", "CIFAR-10", "--templates", "the 7 best")[0] == 0
    found = pd.read_csv(run("--labels", "CIFAR-10", "--templates", "the 7 best")[3])
    assert set(found["templates"]) == {"the 7 best"}
    assert found["labels"].str.fullmatch(r"10 labels \(\w{8}\)").all()


def test_merged_and_cut_labels_are_told_on_stderr(run, tmp_path):
    words = " ".join(f"word{index}" for index in range(100))
    (tmp_path / "names.txt").write_text(f"cat\ncat\n{words}")
    code, _, err, _ = run("--labels", tmp_path / "names.txt")
    assert code == 0
    merged, cut = err.splitlines()
    assert merged == "1 repeated label was merged, such as 'cat'."
    assert "does not read the end of 'word0 word1" in cut
    assert cut.endswith("word99' is cut.")


def test_a_bad_file_among_good_ones_is_told_and_does_not_stop(run, folder):
    (folder / "2.png").write_text("no picture")
    code, said, _, out = run("--labels", "cat,dog")
    assert code == 0
    assert said == f"{out}: 4 pictures read; 1 not readable, see the column 'error'\n"
    assert pd.read_csv(out)["error"].notna().tolist() == [False, False, True, False, False]


def test_u10_files_of_other_endings_are_counted(run, folder):
    for name in ("a.txt", "b.TXT", "c.mov", "README", ".hidden"):
        (folder / name).write_bytes(b"no picture")
    (folder / "0.png").rename(folder / "0.jfif")
    code, said, _, out = run("--labels", "cat,dog")
    assert code == 0
    assert said == (
        f"{out}: 5 pictures read; 4 other files left out (.mov 1, .txt 2, without an ending 1)\n"
    )


def test_the_same_command_goes_on_after_a_stop(run, monkeypatch):
    real, seen = labelling.score, []

    def interrupted(*arguments, **own):
        if seen:
            raise KeyboardInterrupt
        seen.append(True)
        return real(*arguments, **own)

    monkeypatch.setattr(labelling, "score", interrupted)
    code, said, err, out = run("--labels", "cat,dog", "--batch", 2)
    assert (code, said) == (130, "")
    assert "the same command goes on from here" in err
    assert len(pd.read_csv(out)) == 2
    monkeypatch.undo()
    code, said, _, _ = run("--labels", "cat,dog", "--batch", 2)
    assert (code, said) == (0, f"{out}: 3 pictures read; 2 there already\n")
    assert sorted(pd.read_csv(out)["file"]) == [f"{index}.png" for index in range(5)]


def test_a_stop_while_the_model_loads_is_one_sentence(run, monkeypatch):
    def load(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("core.models.load", load)
    code, said, err, out = run("--labels", "cat,dog")
    assert (code, said) == (130, "")
    assert err.strip() == "Stopped; with --labels the same command goes on from here."
    assert not out.exists()


def test_texts_and_pictures_have_a_bar_each(run, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, _, err, _ = run("--labels", "cat,dog")
    assert "\rreading labels 100 %\n\rlabelling " in err
    assert "\rlabelling 100 %\n" in err


def test_other_labels_for_a_table_that_is_there_are_named(run):
    out = run("--labels", "cat,dog")[3]
    code, _, err, _ = run("--labels", "cat,dog,sea")
    assert code == 2
    assert err.startswith(f"The labels of '{out}' are 'cat | dog', and 'cat | dog | sea' came: ")


def test_labels_that_are_read_alike_are_told(run, monkeypatch):
    _, _, err, _ = run("--labels", "cat,dog,Cat")
    said = "reads 'cat' and 'Cat' alike: each gets its own share of the probability."
    assert len(err.splitlines()) == 1
    assert err.endswith(f"{said}\n")


def test_labels_with_slashes_and_dots_between_commas_are_labels(run):
    _, _, _, out = run("--labels", "and/or,node.js,St. Paul.")
    assert set(pd.read_csv(out)["labels"]) == {"and/or | node.js | St. Paul."}


@pytest.mark.parametrize("given", ["list.dat", "own/list", "a\\b", "list.JSON", "my, own"])
def test_a_file_of_another_ending_is_no_label(run, monkeypatch, tmp_path, given):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my, own").write_text("cat")
    said = f"Labels, or a file that ends in .txt, .csv, .tsv, were wanted; '{given}' came: "
    assert refused(run, "--labels", given).startswith(said)


def test_other_settings_for_a_table_that_is_there_are_refused(run):
    _, _, _, out = run("--labels", "cat,dog")
    before = out.read_bytes()
    code, said, err, _ = run("--labels", "cat,dog", "--mechanism", "linear")
    assert (code, said) == (2, "")
    assert "is 'the model's own', and 'linear' came: choose another file" in err
    assert out.read_bytes() == before


def test_pictures_are_ranked_by_words(run):
    code, said, _, out = run("--rank", "a cat")
    assert (code, said) == (0, f"{out}: 5 pictures read\n")
    found = pd.read_csv(out)
    assert list(found["rank"]) == [1, 2, 3, 4, 5]
    assert found["cosine"].is_monotonic_decreasing
    assert set(found["templates"]) == {"none"}


@pytest.mark.parametrize(
    ("options", "said"),
    [(("--labels", " , "), "At least one label was wanted, one a line; none came."),
     (("--labels", "nothing.txt"), "A file of labels was wanted; 'nothing.txt' cannot be read"),
     (("--labels", "a,b", "--templates", "some"), "One of the templates 'none'"),
     (("--labels", "a,b", "--templates", "no.txt"), "A file of templates was wanted; 'no.txt'"),
     (("--labels", "a,b", "--mechanism", "fast"), "One of standard"),
     (("--labels", "a,b", "--batch", "0"), "A batch of at least 1 was wanted; 0 came."),
     (("--labels", "a,b", "--top", "-1"), "A top of at least 1 was wanted; -1 came."),
     (("--labels", "a,b", "--device", "moon"), "'moon' came"),
     (("--rank", " "), "Type at least one word.")],
)  # fmt: skip
def test_what_cannot_be_done_is_one_sentence(run, options, said):
    assert said in refused(run, *options)


def test_a_bad_folder_is_one_sentence(run, tmp_path):
    assert "is none." in refused(run, "--labels", "a,b", of=tmp_path / "nothing")
    (tmp_path / "empty").mkdir()
    said = refused(run, "--labels", "a,b", of=tmp_path / "empty")
    assert said.startswith("Pictures were wanted; no file in")


def test_a_model_that_reads_no_pictures_with_texts_is_refused(run, monkeypatch):
    tower = small.clip().image
    monkeypatch.setattr("core.models.load", lambda *_, **__: tower)
    said = refused(run, "--labels", "a,b")
    assert said == "A model that reads pictures with texts was wanted; 'tiny' reads pictures."


@pytest.mark.parametrize("wrong", [[], ["--labels", "a", "--rank", "b"], ["--top", "two"]])
def test_labels_or_words_are_needed_and_not_both(wrong, capsys):
    with pytest.raises(SystemExit) as left:
        main(["label", "photos", "--out", "a.csv", *wrong])
    assert left.value.code == 2
    assert "usage: python -m core label" in capsys.readouterr().err


def test_help_says_how_labels_with_commas_are_given(capsys):
    with pytest.raises(SystemExit) as left:
        main(["label", "--help"])
    assert left.value.code == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "Labels with a comma in them: use a file" in said
    assert "the folders in it" in said


def test_the_table_of_clip_can_be_asked_for():
    assert parser().parse_args(["bench", "clip"]).what == "clip"


@pytest.mark.parametrize("options", [("--labels", "caf\udcff,dog"), ("--rank", "caf\udcff")])
def test_bytes_that_are_no_unicode_are_read_as_a_replacement(run, options):
    code, said, _, out = run(*options)
    assert (code, said) == (0, f"{out}: 5 pictures read\n")
    assert "caf�" in out.read_text(encoding="utf-8-sig")
