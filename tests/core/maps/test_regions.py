"""Regions of a long text: exact tiles, pooled cells and rows are those of the eager map."""

import numpy as np
import pytest
import torch
import transformers as hf

from core.errors import InputError
from core.maps import long_rows, regions
from core.maps.cells import allowed_in_cells
from core.maps.head_view import Choice, head_view, labelled
from core.maps.regions import Region
from core.models.run import Run
from core.models.text.model import TextModel
from core.types import Position
from tests.core.words import byte_tokenizer

TEXT = "ab cd" * 206 + "!"  # 1,031 tokens
CHOICE = Choice(layer=1, head=2)


def module(kind):
    torch.manual_seed(0)
    config = hf.LlamaConfig(
        vocab_size=259, hidden_size=24, intermediate_size=29, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1100,
        initializer_range=0.5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    return hf.LlamaForCausalLM._from_config(config, attn_implementation=kind).eval()


@pytest.fixture(scope="module")
def run() -> Run:
    return TextModel(module("sdpa"), byte_tokenizer(), "tiny").run(TEXT)


@pytest.fixture(scope="module")
def eager(run) -> np.ndarray:
    """The library's own map of layer 1, head 2."""
    with torch.inference_mode():
        output = module("eager")(**run.prepared.tensors, output_attentions=True)
    return output.attentions[1][0, 2].numpy()


def region_of(*ends) -> Choice:
    return Choice(layer=1, head=2, region=Region(ends[:2], ends[2:]))


def cells(eager, q, k, size, reduce):
    """Cells of size x size weights, cut at the region's ends, one after another."""
    part = eager[slice(*q), slice(*k)]
    return np.array(
        [
            [
                reduce(part[row : row + size, column : column + size])
                for column in range(0, part.shape[1], size)
            ]
            for row in range(0, part.shape[0], size)
        ]
    )


@pytest.mark.parametrize("ends", [(519, 1031, 0, 512), (700, 711, 690, 713), (1030, 1031, 0, 7)])
def test_a_region_of_up_to_512_positions_is_the_eager_map_weight_by_weight(run, eager, ends):
    view = head_view(run, region_of(*ends))
    wanted = eager[ends[0] : ends[1], ends[2] : ends[3]]
    np.testing.assert_allclose(view.weights, wanted, atol=1e-5)
    assert [position.label for position in view.keys] == [
        position.label for position in run.prepared.groups[0].keys[0][ends[2] : ends[3]]
    ]
    assert len(view.queries) == ends[1] - ends[0]
    assert view.shown.exact
    causal = np.tri(1031, dtype=bool)[ends[0] : ends[1], ends[2] : ends[3]]
    np.testing.assert_array_equal(view.allowed, causal)


@pytest.mark.parametrize(("reduce", "by_hand"), [("max", np.max), ("mean", np.mean)])
def test_a_larger_region_is_pooled_as_said(run, eager, reduce, by_hand):
    choice = Choice(layer=1, head=2, reduce=reduce, region=Region((11, 1030), (3, 518)))
    view = head_view(run, choice)
    assert view.shown.cells == (2, 2)
    wanted = cells(eager, (11, 1030), (3, 518), 2, by_hand)
    np.testing.assert_allclose(view.weights, wanted, atol=1e-5)
    word = {"max": "largest", "mean": "mean"}[reduce]
    assert view.note == f"positions 11 to 1,029 x 3 to 517; {word} weight of each 2 x 2 positions"


def test_the_whole_map_by_mean_is_the_mean_of_the_eager_map(run, eager):
    view = head_view(run, Choice(layer=1, head=2, reduce="mean"))
    wanted = cells(eager, (0, 1031), (0, 1031), 3, np.mean)
    np.testing.assert_allclose(view.weights, wanted, atol=1e-5)
    assert view.note == "mean weight of each 3 x 3 positions"


@pytest.mark.parametrize("cell", [1, 3])
def test_a_cell_is_allowed_where_any_of_its_weights_is(run, cell):
    region = Region((101, 212), (90, 231))
    found = allowed_in_cells(run.trace.calls[0], 0, 0, region, (cell, cell))
    causal = np.tri(1031, dtype=np.float32)
    np.testing.assert_array_equal(found, cells(causal, *region, cell, np.max) > 0)


def test_a_download_of_a_region_says_which_and_is_exact(run, eager):
    export = labelled(run, region_of(500, 1031, 17, 1031), "notes.txt")
    np.testing.assert_allclose(export.weights, eager[500:1031, 17:1031], atol=1e-5)
    assert export.about.note == "positions 500 to 1,030 x 17 to 1,030, exact"


@pytest.mark.parametrize("ends", [(5, 5, 0, 9), (9, 5, 0, 9), (-1, 5, 0, 9), (0, 1032, 0, 9)])
def test_a_region_that_is_not_there_is_refused(run, ends):
    with pytest.raises(ValueError, match="q between 0 and 1031 was wanted"):
        head_view(run, region_of(*ends))


def test_a_row_is_the_eager_row_over_all_keys(run, eager):
    for query in (0, 517, 1030):
        row = long_rows.exact_row(run, CHOICE, query)
        np.testing.assert_allclose(row, eager[query], atol=1e-5)
    file = long_rows.labelled_row(run, CHOICE, 517, "notes.txt")
    np.testing.assert_allclose(file.weights[0], eager[517], atol=1e-5)
    assert "token 517" in file.about.note
    with pytest.raises(ValueError, match="a query from 0 to 1030 was wanted; 1031 came"):
        long_rows.exact_row(run, CHOICE, 1031)


def test_the_query_of_a_cell_is_the_one_whose_weight_it_shows(run, eager):
    for region in (Region((600, 616), (3, 19)), Region((1000, 1031), (0, 1031))):
        part = eager[slice(*region.q), slice(*region.k)]
        wanted = region.q[0] + int(part.max(axis=1).argmax())
        assert long_rows.strongest_query(run, CHOICE, region) == wanted


def test_passages_hold_the_strongest_keys_with_their_surroundings_once():
    weights = np.zeros(101, np.float32)
    weights[[2, 5, 50]] = 0.5, 0.3, 0.2
    assert long_rows.strongest(weights) == [2, 5, 50]
    assert long_rows.passages(weights, (99,), around=3) == ((0, 9), (47, 54), (96, 101))


@pytest.mark.parametrize(
    ("words", "after", "found"),
    [("the river", -1, 0), ("the river", 0, 4), ("The River", 4, 0), ("ran", -1, 2),
     ("sea", -1, None), ("  ", -1, None)],
)  # fmt: skip
def test_words_are_found_from_a_token_on_and_from_the_start_again(words, after, found):
    labels = ["the", "␣river", "␣ran", "↵", "␣The", "␣riv", "er"]
    assert long_rows.find([Position(label) for label in labels], words, after) == found


def test_a_token_is_shown_between_its_neighbours():
    marked = [Position(label) for label in ("␣a", "␣quiet", "␣riv", "er")]
    assert long_rows.context(marked, 2) == "a quiet ›riv‹ er"
    plain = [Position(label) for label in ("a", "quiet", "river")]
    assert long_rows.context(plain, 1) == "a ›quiet‹ river"


def test_a_region_is_read_as_it_is_written():
    assert regions.parsed("1024:1536, 0:512") == Region((1024, 1536), (0, 512))


@pytest.mark.parametrize("text", ["", "1:2", "1:2,3", "1:2,3:4,5:6", "a:b,c:d", "1:2,-3:4"])
def test_what_names_no_region_is_refused(text):
    with pytest.raises(InputError, match="A region such as 1024:1536,0:512 was wanted"):
        regions.parsed(text)
