"""Readings: what is shown of a head is the library's own map, cut, joined and pooled as said."""

import numpy as np
import pytest
import torch
import transformers as hf

from core import maps
from core.maps.head_view import Choice, call_of, head_view, labelled, mosaic_view
from core.models.run import Run
from core.models.text.model import TextModel
from tests.core.words import bert_tokenizer, byte_tokenizer

SHORT, LONG = "the cats sat", "the cat sat the cats sat"


def seeded(model_class, config, kind="sdpa"):
    torch.manual_seed(0)
    return model_class._from_config(config, attn_implementation=kind).eval()


def bert_config(positions=31):
    return hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=3, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=positions, initializer_range=0.5,
    )  # fmt: skip


def llama_config():
    return hf.LlamaConfig(
        vocab_size=259, hidden_size=24, intermediate_size=29, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=1100,
        initializer_range=0.5, bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip


def eager_maps(model_class, config, run: Run) -> list[np.ndarray]:
    with torch.inference_mode():
        eager = seeded(model_class, config, "eager")
        output = eager(**run.prepared.tensors, output_attentions=True)
    return [layer.numpy() for layer in output.attentions]


@pytest.fixture(scope="module", params=["right", "left"])
def padded(request) -> Run:
    """Two sentences of 6 and 9 tokens: the first is padded."""
    tokenizer = bert_tokenizer(padding_side=request.param)
    return TextModel(seeded(hf.BertModel, bert_config()), tokenizer, "tiny").run([SHORT, LONG])


@pytest.fixture(scope="module")
def single() -> Run:
    return TextModel(seeded(hf.BertModel, bert_config()), bert_tokenizer(), "tiny").run(LONG)


@pytest.fixture(scope="module")
def long_run() -> Run:
    """1,031 tokens: cells of 3 x 3 positions, the last ones smaller."""
    module = seeded(hf.LlamaForCausalLM, llama_config())
    return TextModel(module, byte_tokenizer(), "tiny").run("ab cd" * 206 + "!")


@pytest.mark.parametrize("item", [0, 1])
@pytest.mark.parametrize(("layer", "head"), [(0, 0), (2, 4)])
def test_a_padded_sentence_shows_its_own_part_of_the_eager_map(padded, item, layer, head):
    wanted = eager_maps(hf.BertModel, bert_config(), padded)[layer][item, head]
    start, size = padded.prepared.groups[0].first_query[item], (6, 9)[item]
    view = head_view(padded, Choice(layer=layer, head=head, item=item))
    own = wanted[start : start + size, start : start + size]
    np.testing.assert_allclose(view.weights, own, atol=1e-5)
    assert view.allowed is None or view.allowed.all()
    assert view.note == ""


@pytest.mark.parametrize("item", [0, 1])
def test_t8_as_many_labels_as_positions(padded, item):
    view = head_view(padded, Choice(item=item))
    assert view.weights.shape == (len(view.queries), len(view.keys))
    words = ["[CLS]", *(SHORT, LONG)[item].replace("cats", "cat ##s").split(), "[SEP]"]
    assert [position.label for position in view.queries] == words
    export = labelled(padded, Choice(item=item), SHORT)
    assert list(export.rows) == list(export.columns) == words
    assert export.weights.shape == (len(words), len(words))


def test_hiding_special_tokens_divides_each_row_by_what_is_left(single):
    whole = head_view(single, Choice(layer=1, head=3)).weights
    view = head_view(single, Choice(layer=1, head=3, hide_special=True))
    own = whole[1:-1, 1:-1]
    np.testing.assert_allclose(view.weights, own / own.sum(axis=1, keepdims=True), rtol=1e-6)
    np.testing.assert_allclose(view.weights.sum(axis=1), np.ones(7), rtol=1e-6)
    assert "special tokens hidden" in view.note
    assert not any(position.special for position in (*view.queries, *view.keys))


def test_hiding_special_tokens_keeps_a_side_that_has_no_others():
    config = hf.T5Config(
        vocab_size=11, d_model=20, d_kv=5, d_ff=23, num_layers=2, num_decoder_layers=3,
        num_heads=4, decoder_start_token_id=0,
    )  # fmt: skip
    module = seeded(hf.T5ForConditionalGeneration, config)
    run = TextModel(module, bert_tokenizer(), "tiny-t5").run("the cat sat")
    for group, shape in enumerate([(3, 3), (1, 1), (1, 3)]):
        choice = Choice(group=group, hide_special=True, by_word=True)
        view = head_view(run, choice)
        assert view.weights.shape == (len(view.queries), len(view.keys)) == shape
        np.testing.assert_allclose(view.weights.sum(axis=1), np.ones(shape[0]), rtol=1e-5)
        assert mosaic_view(run, choice).shape == ((2, 3, 3)[group], 4, *shape)


@pytest.mark.parametrize("hide", [False, True])
def test_words_add_columns_and_average_rows_so_that_rows_still_sum_to_1(single, hide):
    view = head_view(single, Choice(layer=2, head=1, hide_special=hide, by_word=True))
    words = ["the", "cat", "sat", "the", "cats", "sat"]
    words = words if hide else ["[CLS]", *words, "[SEP]"]
    assert [position.label for position in view.queries] == words
    assert [position.label for position in view.keys] == words
    np.testing.assert_allclose(view.weights.sum(axis=1), np.ones(len(words)), rtol=1e-5)
    assert "by word" in view.note
    if not hide:
        tokens = head_view(single, Choice(layer=2, head=1)).weights
        # 'cats' is the tokens 5 and 6.
        cats = tokens[5:7, 5:7].sum(axis=1).mean()
        np.testing.assert_allclose(view.weights[5, 5], cats, rtol=1e-5)


def test_a_causal_head_says_which_cells_are_masked_by_token_and_by_word():
    module = seeded(hf.LlamaForCausalLM, llama_config())
    run = TextModel(module, byte_tokenizer(), "tiny").run("ab cd")
    view = head_view(run, Choice())
    np.testing.assert_array_equal(view.allowed, np.tri(5, dtype=bool))
    by_word = head_view(run, Choice(by_word=True))
    np.testing.assert_array_equal(by_word.allowed, np.tri(2, dtype=bool))


def test_beyond_512_positions_a_cell_is_the_largest_weight_of_its_block(long_run):
    call = call_of(long_run, Choice(layer=1, head=2))
    whole = maps.head_map(call, 2).numpy()
    view = head_view(long_run, Choice(layer=1, head=2))
    assert whole.shape == (1031, 1031)
    assert view.weights.shape == (len(view.queries), len(view.keys)) == (344, 344)
    for row, column in ((0, 0), (200, 7), (343, 343), (343, 0), (7, 200)):
        block = whole[3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
        np.testing.assert_allclose(view.weights[row, column], block.max(), rtol=1e-6)
    assert view.queries[0].label == "a … ␣"
    assert view.queries[343].label == "d … !"
    assert view.note == "largest weight of each 3 x 3 positions"


def test_beyond_512_positions_a_cell_is_masked_only_where_all_of_it_is(long_run):
    view = head_view(long_run, Choice())
    np.testing.assert_array_equal(view.allowed, np.tri(344, dtype=bool))
    assert (view.weights[~view.allowed] == 0).all()


def test_beyond_512_positions_a_cell_of_a_window_is_open_where_any_of_it_is():
    config = hf.MistralConfig(
        vocab_size=259, hidden_size=24, intermediate_size=29, num_hidden_layers=1,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=2,
        bos_token_id=1, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    run = TextModel(seeded(hf.MistralForCausalLM, config), byte_tokenizer(), "tiny").run("ab" * 300)
    view = head_view(run, Choice())
    # Of 2 x 2 positions: row 2i still sees the key 2i - 1, row 2i + 1 does not.
    wanted = np.tri(300, dtype=bool) & ~np.tri(300, k=-2, dtype=bool)
    np.testing.assert_array_equal(view.allowed, wanted)
    np.testing.assert_array_equal(view.weights > 0, wanted)


def test_beyond_512_positions_options_that_do_not_apply_are_said(long_run):
    view = head_view(long_run, Choice(by_word=True))
    assert view.weights.shape == (344, 344)
    assert view.note.endswith("too long to leave out tokens or to join words")


def test_a_long_sentence_of_a_batch_is_pooled_without_its_padding():
    module = seeded(hf.BertModel, bert_config(1024))
    tokenizer = bert_tokenizer(padding_side="left")
    run = TextModel(module, tokenizer, "tiny").run(["the cat " * 300, "sat " * 700])
    view = head_view(run, Choice(head=1))
    whole = maps.head_map(call_of(run, Choice(head=1)), 1).numpy()[100:, 100:]
    assert view.weights.shape == (301, 301)
    np.testing.assert_allclose(view.weights[0, 5], whole[:2, 10:12].max(), rtol=1e-6)
    np.testing.assert_allclose(view.weights.max(), whole.max(), rtol=1e-6)
    assert view.allowed.all()


def test_mosaic_holds_every_heads_pooled_map(padded):
    told = []
    mosaic = mosaic_view(padded, Choice(item=0), size=3, on_layer=told.append)
    assert mosaic.shape == (3, 5, 3, 3)
    np.testing.assert_allclose(told, [1 / 3, 2 / 3, 1.0])
    for layer in range(3):
        for head in range(5):
            own = head_view(padded, Choice(layer=layer, head=head, item=0)).weights
            wanted = own.reshape(3, 2, 3, 2).max(axis=(1, 3))
            np.testing.assert_allclose(mosaic[layer, head], wanted, rtol=1e-6)


@pytest.mark.parametrize("options", [{"hide_special": True}, {"by_word": True}])
def test_mosaic_shows_the_same_options_as_the_map(single, options):
    mosaic = mosaic_view(single, Choice(**options))
    for layer, head in ((0, 0), (2, 4)):
        view = head_view(single, Choice(layer=layer, head=head, **options))
        np.testing.assert_array_equal(mosaic[layer, head], view.weights)
    pooled = mosaic_view(single, Choice(**options), size=2)
    assert pooled.shape == (3, 5, 2, 2)
    np.testing.assert_allclose(pooled.max(axis=(2, 3)), mosaic.max(axis=(2, 3)))


@pytest.mark.parametrize(
    ("layer", "head", "said"),
    [(3, 0, "a layer from 0 to 2"), (-1, 0, "a layer from 0 to 2"),
     (0, 5, "a head from 0 to 4"), (0, -1, "a head from 0 to 4")],
)  # fmt: skip
def test_a_layer_or_head_that_is_not_there_is_refused(single, layer, head, said):
    for style in (call_of, head_view):
        with pytest.raises(ValueError, match=said):
            style(single, Choice(layer=layer, head=head))


def test_without_the_first_token_each_row_is_divided_by_what_is_left():
    run = TextModel(seeded(hf.BertModel, bert_config()), bert_tokenizer(), "tiny").run(LONG)
    whole = head_view(run, Choice(layer=1, head=2))
    left = head_view(run, Choice(layer=1, head=2, leave_first=True))
    kept = whole.weights[1:, 1:]
    np.testing.assert_allclose(left.weights, kept / kept.sum(axis=1, keepdims=True), atol=1e-6)
    assert left.keys == whole.keys[1:]
    assert left.note == f"without the first token, {whole.keys[0].label}, rows renormalised"
    mosaic = mosaic_view(run, Choice(leave_first=True))
    np.testing.assert_allclose(mosaic[1, 2], left.weights, atol=1e-6)
