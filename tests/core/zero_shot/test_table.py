"""The table of all scores reads back in pandas, whatever the labels and names hold."""

import io

import numpy as np
import open_clip
import pandas as pd
import pytest

from core.picture.files.csv_cells import guarded, unguarded
from core.zero_shot.encodings import Encodings
from core.zero_shot.scores import score
from core.zero_shot.table import scores_csv, settings_of
from tests.core.zero_shot import small

LABELS = ("c# code", 'a "cat", old', "#", "=1+1", "'-1")
NAMES = ("a #1.png", "b,\n.png", "café.png")


def table(model, labels, names=NAMES):
    templates = ("{}", 'a "{}", old')
    pictures = model.encode_pictures(small.pictures(len(names)))
    scores = score(
        pictures, Encodings().labels(model, labels, templates), labels=labels, templates=templates,
        scale=model.scale, bias=model.bias, sigmoid=model.sigmoid,
    )  # fmt: skip
    return scores, scores_csv(scores, names, settings_of(model, "linear", templates))


def read(data):
    return pd.read_csv(io.BytesIO(data), comment="#", encoding="utf-8-sig")


@pytest.mark.parametrize("make", [small.clip, small.siglip])
def test_every_score_reads_back(make):
    scores, data = table(make(), LABELS)
    found = read(data)
    assert len(found) == len(NAMES) * len(LABELS)
    assert list(found["rank"]) == [1, 2, 3, 4, 5] * 3
    for row in found.itertuples():
        place = NAMES.index(row.picture), LABELS.index(unguarded(row.label))
        np.testing.assert_allclose(row.cosine, scores.cosine[place], rtol=1e-5)
        np.testing.assert_allclose(row.probability, scores.probability[place], rtol=1e-5)
        np.testing.assert_allclose(row.spread_over_templates, scores.spread[place], rtol=1e-5)


def test_settings_come_before_the_table_with_the_scale_that_was_used():
    model = small.clip()
    _, data = table(model, LABELS)
    head = [line for line in data.decode("utf-8-sig").splitlines() if line.startswith("# ")]
    assert "# model: tiny" in head
    assert "# mechanism: linear" in head
    versions = next(line for line in head if line.startswith("# versions: "))
    assert f"open_clip_torch {open_clip.__version__}" in versions
    assert "# templates: {} | a '{}', old" in head
    assert "# probability: softmax(14.2857 x cosine) over the labels" in head
    _, data = table(small.siglip(), LABELS)
    assert "# probability: sigmoid(14.2857 x cosine -2) of each label" in data.decode("utf-8-sig")


def test_no_label_is_a_formula_to_a_spreadsheet():
    cells = set(read(table(small.clip(), LABELS)[1])["label"])
    assert cells == {"c# code", 'a "cat", old', "#", "'=1+1", "''-1"}
    _, data = table(small.clip(), LABELS, ("=1.png", "+2.png", "3=.png"))
    assert set(read(data)["picture"]) == {"'=1.png", "'+2.png", "3=.png"}


@pytest.mark.parametrize(
    "text", ["", "a", "'", "'a", "=a", "'=a", "''=a", "\ta", "-", "a=b", "'' ="]
)
def test_what_is_guarded_comes_back(text):
    assert unguarded(guarded(text)) == text
    assert guarded(text)[:1] not in set("=+-@\t\r")


def test_one_label_has_no_probability_and_the_note_says_why():
    _, data = table(small.clip(), ("cat",))
    assert read(data)["probability"].isna().all()
    assert "# note: Two or more labels are needed for a probability.\r\n" in data.decode()
