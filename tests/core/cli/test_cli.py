"""The command line: files that open, and one line with exit code 2 for whatever cannot be done."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from core.__main__ import main
from core.attention import MECHANISMS
from core.models import MODELS
from core.models.files import weights
from core.models.vision.images import sample_picture

TEXT = "The cats sat because it was warm."
TOKENS = ["[CLS]", "the", "cats", "sat", "because", "it", "was", "warm", ".", "[SEP]"]


@pytest.fixture(autouse=True)
def _no_hub(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


@pytest.fixture
def minilm(fetched):
    fetched("minilm")
    return "minilm"


@pytest.fixture
def picture(fetched, tmp_path):
    fetched("focus-vit")
    path = tmp_path / "cat.png"
    # 4 times as wide as high: 37 x 9 patches, a quarter of the work.
    sample_picture("chelsea").pixels.resize((160, 40)).save(path)
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def refused(capsys, *arguments):
    """The one line that a refusal is."""
    code, out, err = run(capsys, *arguments)
    assert code == 2
    assert out == ""
    assert err.endswith("\n")
    assert len(err.splitlines()) == 1
    return err.rstrip("\n")


def embedded_views(page):
    start = page.index('id="views">') + len('id="views">')
    return json.loads(page[start : page.index("</script>", start)])


def test_a_text_becomes_numbers(capsys, minilm, tmp_path):
    out = tmp_path / "map.npz"
    code, said, err = run(capsys, "maps", TEXT, "--layer", 3, "--head", 1, "--out", out)
    assert (code, said, err) == (0, f"{out}\n", "")
    with np.load(out) as file:
        assert list(file["rows"]) == list(file["columns"]) == TOKENS
        np.testing.assert_allclose(file["weights"].sum(axis=1), np.ones(10), rtol=1e-5)
        about = json.loads(str(file["about"]))
    assert (about["model"], about["layer"], about["head"]) == (minilm, 3, 1)
    assert about["input"] == TEXT


def test_a_text_becomes_a_table_with_the_options(capsys, minilm, tmp_path):
    out = tmp_path / "map.csv"
    options = ("--hide-special", "--by-word", "--mechanism", "linear")
    assert run(capsys, "maps", TEXT, *options, "--out", out)[0] == 0
    with out.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert ["# mechanism: linear"] in rows
    assert ["looks \\ looked at", *TOKENS[1:-1]] in rows
    assert sum(float(cell) for cell in rows[-1][1:]) == pytest.approx(1, abs=1e-4)


def test_a_text_becomes_a_picture_and_a_page(capsys, minilm, tmp_path):
    png, html = tmp_path / "map.PNG", tmp_path / "map.html"
    file = tmp_path / "text.txt"
    file.write_text(TEXT)
    assert run(capsys, "maps", TEXT, "--out", png)[0] == 0
    with Image.open(png) as image:
        assert image.size == (1200, 1110)
    assert run(capsys, "maps", file, "--layer", 5, "--head", 11, "--out", html)[0] == 0
    sentence, head, mosaic = embedded_views(html.read_text())
    assert (sentence["view"], head["view"], mosaic["view"]) == ("sentence", "map", "mosaic")
    assert sentence["tokens"] == head["queries"] == head["keys"] == TOKENS
    assert head["selected"] == mosaic["selected"] == {"layer": 5, "head": 11}
    assert mosaic["grids"]["shape"] == [6, 12, 10, 10]


def test_a_picture_becomes_numbers_and_an_overlay(capsys, picture, tmp_path):
    npz, png = tmp_path / "row.npz", tmp_path / "overlay.png"
    query = ("--query", "2,30", "--layer", 11, "--head", 5)
    assert run(capsys, "maps", picture, *query, "--out", npz)[0] == 0
    with np.load(npz) as file:
        assert list(file["rows"]) == ["patch 2,30"]
        assert list(file["columns"][:2]) == ["CLS", "patch 0,0"]
        assert file["weights"].shape == (1, 1 + 9 * 37)
        np.testing.assert_allclose(file["weights"].sum(), 1, rtol=1e-5)
    assert run(capsys, "maps", picture, "--out", png)[0] == 0
    with Image.open(png) as image:
        assert image.width == 1200


def test_a_picture_becomes_a_page_and_a_table_of_the_whole_head(capsys, picture, tmp_path):
    html, table = tmp_path / "page.html", tmp_path / "map.csv"
    assert run(capsys, "maps", picture, "--out", html)[0] == 0
    (view,) = embedded_views(html.read_text())
    assert (view["view"], view["rows"]["shape"]) == ("patches", [12, 6, 9 * 37])
    assert view["query"] == {"prefix": 0}
    assert run(capsys, "maps", picture, "--out", table)[0] == 0
    with table.open(encoding="utf-8-sig", newline="") as file:
        rows = [row for row in csv.reader(file) if not row[0].startswith("# ")]
    assert [len(row) for row in rows] == [1 + 334] * 335


def test_what_had_to_be_changed_is_said_on_stderr(capsys, picture, tmp_path):
    code, out, err = run(capsys, "maps", picture, "--out", tmp_path / "a.npz")
    assert code == 0
    assert out == f"{tmp_path / 'a.npz'}\n"
    assert "was resized from 40 x 160" in err


def test_an_unknown_ending_is_refused(capsys, tmp_path):
    said = refused(capsys, "maps", TEXT, "--out", tmp_path / "map.pdf")
    assert said.startswith("A file that ends in .png, .npz, .csv, .html was wanted;")


def test_an_unknown_mechanism_is_refused(capsys, tmp_path):
    said = refused(capsys, "maps", TEXT, "--mechanism", "fast", "--out", tmp_path / "a.npz")
    assert said == f"One of {', '.join(MECHANISMS)} was wanted; 'fast' came."


@pytest.mark.parametrize("name", ["no-such-model", "bert-base-uncasd", "./nothing", "a" * 999])
def test_an_unknown_model_is_refused(capsys, tmp_path, name):
    said = refused(capsys, "maps", TEXT, "--model", name, "--out", tmp_path / "a.npz")
    assert name[:80] in said
    assert "a" * 81 not in said


@pytest.mark.parametrize(
    ("place", "said"),
    [(("--layer", 6), "a layer from 0 to 5 was wanted; 6 came"),
     (("--layer", -1), "a layer from 0 to 5 was wanted; -1 came"),
     (("--head", 12), "a head from 0 to 11 was wanted; 12 came")],
)  # fmt: skip
def test_a_layer_or_head_out_of_range_is_refused(capsys, minilm, tmp_path, place, said):
    found = refused(capsys, "maps", TEXT, *place, "--out", tmp_path / "a.npz")
    assert found == f"'minilm': {said}."


def test_a_picture_for_a_text_model_is_refused(capsys, minilm, tmp_path):
    out = tmp_path / "a.png"
    said = refused(capsys, "maps", "cat.png", "--model", minilm, "--out", out)
    assert said == "A model that reads pictures was wanted; 'minilm' reads texts."


def test_a_text_for_a_vision_model_is_refused(capsys, picture, tmp_path):
    out = tmp_path / "a.png"
    said = refused(capsys, "maps", TEXT, "--model", "focus-vit", "--out", out)
    assert said == "A model that reads texts was wanted; 'focus-vit' reads pictures."


def test_an_option_that_would_do_nothing_is_refused(capsys, minilm, picture, tmp_path):
    out = ("--out", tmp_path / "a.npz")
    assert "--query is for pictures" in refused(capsys, "maps", TEXT, "--query", "CLS", *out)
    for option in ("--by-word", "--hide-special"):
        assert f"{option}" in refused(capsys, "maps", picture, option, *out)


@pytest.mark.parametrize("name", ["missing.png", "folder.jpg", "broken.png"])
def test_a_picture_that_cannot_be_read_is_refused(capsys, picture, tmp_path, name):
    (tmp_path / "folder.jpg").mkdir()
    (tmp_path / "broken.png").write_bytes(picture.read_bytes()[:99])
    said = refused(capsys, "maps", tmp_path / name, "--out", tmp_path / "a.png")
    assert name in said


def test_a_query_that_the_picture_does_not_have_is_refused(capsys, picture, tmp_path):
    said = refused(capsys, "maps", picture, "--query", "9,0", "--out", tmp_path / "a.png")
    assert said == "A query such as CLS, 0,0 to 8,36 was wanted; '9,0' came."


@pytest.mark.parametrize(
    ("name", "why"), [("missing.txt", "cannot be read"), ("latin.txt", "no text")]
)
def test_a_text_file_that_cannot_be_read_is_refused(capsys, minilm, tmp_path, name, why):
    (tmp_path / "latin.txt").write_bytes("café".encode("latin-1"))
    said = refused(capsys, "maps", tmp_path / name, "--out", tmp_path / "a.npz")
    assert said.startswith("A text file")
    assert f"'{tmp_path / name}'" in said
    assert why in said


def test_a_blank_text_is_refused(capsys, minilm, tmp_path):
    assert refused(capsys, "maps", "  ", "--out", tmp_path / "a.npz") == "Type at least one word."


def test_an_output_folder_that_is_not_there_is_refused(capsys, minilm, tmp_path):
    out = tmp_path / "nowhere" / "a.npz"
    said = refused(capsys, "maps", TEXT, "--out", out)
    assert said == f"'{out}' cannot be written: No such file or directory."


def test_an_argument_that_is_no_unicode_is_written_all_the_same(capsys, minilm, tmp_path):
    # What a shell passes on from a file in another encoding.
    out = tmp_path / "a.csv"
    assert run(capsys, "maps", "caf\udce9 sat", "--out", out)[0] == 0
    assert "# input: caf" in out.read_text(encoding="utf-8-sig")


def test_models_lists_every_model_and_where_it_comes_from(capsys):
    code, out, _ = run(capsys, "models")
    assert code == 0
    listed = dict(line.split(maxsplit=1) for line in out.splitlines())
    for name, entry in MODELS.items():
        assert listed[name].startswith(entry.kind)
        assert ("from the hub" in listed[name]) == (entry.where == "hub")


def test_weights_that_are_unknown_are_refused(capsys):
    said = refused(capsys, "weights", "nothing")
    assert said == f"One of the weights {', '.join(weights.SOURCES)} was wanted; 'nothing' came."


@pytest.mark.parametrize("command", [[], ["maps"], ["models"], ["weights"], ["bench"]])
def test_help_works(capsys, command):
    with pytest.raises(SystemExit) as left:
        main([*command, "--help"])
    assert left.value.code == 0
    assert "usage: python -m core" in capsys.readouterr().out


@pytest.mark.parametrize("wrong", [[], ["nothing"], ["maps"], ["maps", TEXT, "--layer", "first"]])
def test_a_command_that_cannot_be_parsed_leaves_with_2(capsys, wrong):
    with pytest.raises(SystemExit) as left:
        main(wrong)
    assert left.value.code == 2
    assert capsys.readouterr().err.startswith("usage: python -m core")


def test_bytes_that_are_no_unicode_are_read_as_a_replacement_and_told(capsys, minilm, tmp_path):
    out = tmp_path / "map.csv"
    code, said, err = run(capsys, "maps", "caf\udcff", "--out", out)
    assert (code, said) == (0, f"{out}\n")
    assert "Characters that are not valid Unicode were read as '�'." in err
    assert "caf�" in out.read_text(encoding="utf-8-sig")


def test_what_cannot_be_written_as_unicode_is_one_sentence(capsys, minilm, monkeypatch, tmp_path):
    monkeypatch.setattr("core.cli.maps.valid_unicode", lambda text: text)
    out = tmp_path / "map.png"
    code, _, err = run(capsys, "maps", "caf\udcff", "--out", out)
    assert code == 2
    assert err.splitlines()[-1].startswith("Text in Unicode was wanted; bytes that are none came")
