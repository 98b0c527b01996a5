"""What text models give: embeddings, next tokens, and the groups of their calls."""

import pytest
import torch
import transformers as hf

from core.errors import InputError
from core.models.text.facts import start_token, trunk
from core.models.text.model import TextModel
from core.models.text.next_token import likely_after, next_logits
from tests.core.models.text.tiny_text import (
    CAT,
    DECODERS,
    LONG,
    built,
    byte_level,
    decoder,
    word_piece,
)


def test_encoder_embeds_by_the_mean_of_own_positions(bert):
    prepared = bert.prepare([CAT, LONG])
    output = bert.forward(prepared)
    for item, single in enumerate((CAT, LONG)):
        ids = torch.tensor([bert.tokenizer(single).input_ids])
        expected = bert.module(ids).last_hidden_state[0].mean(dim=0)
        torch.testing.assert_close(output.embedding[item], expected, atol=1e-5, rtol=1e-4)
    assert output.hidden.shape == (2, 7, 20)
    assert output.predictions == ()


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", DECODERS)
def test_padding_changes_nothing_for_a_decoder(name, side):
    model = decoder(name, padding_side=side)
    texts = ["cat", "the cat"]
    batch = model.forward(model.prepare(texts))
    for item, single in enumerate(texts):
        ids = torch.tensor([model.tokenizer(single).input_ids])
        hidden = trunk(model.module)(ids, use_cache=False).last_hidden_state[0, -1]
        torch.testing.assert_close(batch.embedding[item], hidden, atol=1e-5, rtol=1e-4)
        probability = model.module(ids).logits[0, -1].softmax(dim=-1).topk(5).values
        found = torch.tensor([likely.probability for likely in batch.predictions[item]])
        torch.testing.assert_close(found, probability, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("name", DECODERS)
def test_next_scores_are_those_of_the_whole_model(name):
    model = decoder(name)
    ids = torch.arange(3, 14)[None]
    outputs = trunk(model.module)(ids, use_cache=False)
    scores = next_logits(model.module, outputs, torch.tensor([6]))
    torch.testing.assert_close(scores, model.module(ids).logits[:, 6], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("side", ["left", "right"])
def test_next_tokens_of_any_position_are_those_of_the_whole_model(side):
    model = decoder("llama", padding_side=side)
    run = model.run(["cat", "the cat"])
    ids = torch.tensor([model.tokenizer("cat").input_ids])
    expected = model.module(ids).logits[0, 1].softmax(dim=-1).topk(3).values
    where = {"item": 0, "position": 1, "most": 3}
    found = likely_after(model.module, model.tokenizer, run, **where)
    probability = torch.tensor([likely.probability for likely in found])
    torch.testing.assert_close(probability, expected, atol=1e-6, rtol=1e-4)
    with pytest.raises(ValueError, match="from 0 to 2 was wanted; 3 came"):
        likely_after(model.module, model.tokenizer, run, **where | {"position": 3})


def test_a_decoder_without_a_head_predicts_nothing():
    config, _ = DECODERS["gpt2"]
    model = TextModel(built(config, hf.GPT2Model), byte_level(), "headless")
    assert model.family == "decoder"
    output = model.forward(model.prepare("cat"))
    assert output.predictions == ()
    torch.testing.assert_close(output.embedding, output.hidden[:, -1])


@pytest.mark.parametrize("name", ["gpt2", "llama", "opt", "cohere"])
def test_one_map_a_layer_and_no_dense_mask_for_one_text(name):
    run = decoder(name).run("the cat")
    assert run.prepared.groups[0].calls == (0, 1, 2)
    assert [(call.mask, call.is_causal) for call in run.trace.calls] == [(None, True)] * 3


def test_a_model_without_fused_attention_gives_the_librarys_own_maps():
    model = decoder("gemma2")
    run = model.run("cat")
    ids = run.prepared.tensors["input_ids"]
    expected = model.module(ids, output_attentions=True).attentions
    for call, layer in zip(run.trace.calls, expected, strict=True):
        torch.testing.assert_close(call.model_weights, layer)


def test_t5_source_of_four_and_target_of_three(t5):
    run = t5.run([("the cat sat", "the cat")])
    shapes = [(call.query.shape[2], call.key.shape[2]) for call in run.trace.calls]
    assert shapes == [(4, 4)] * 2 + [(3, 3), (3, 4)] * 3
    groups = {group.name: group for group in run.prepared.groups}
    assert groups["encoder"].calls == (0, 1)
    assert groups["decoder"].calls == (2, 4, 6)
    assert groups["cross-attention"].calls == (3, 5, 7)
    cross = groups["cross-attention"]
    assert [position.label for position in cross.queries[0]] == ["[PAD]", "the", "cat"]
    assert [position.label for position in cross.keys[0]] == ["the", "cat", "sat", "</s>"]
    assert cross.queries[0][0].special


def test_t5_pads_source_and_target_apart(t5):
    pairs = [("the cat sat", "the"), ("the", "the cat sat")]
    prepared = t5.prepare(pairs)
    cross = prepared.groups[2]
    assert [len(own) for own in cross.queries] == [2, 4]
    assert [len(own) for own in cross.keys] == [4, 2]
    batch = t5.forward(prepared)
    for item, pair in enumerate(pairs):
        single = t5.forward(t5.prepare([pair]))
        torch.testing.assert_close(batch.embedding[item], single.embedding[0], atol=1e-5, rtol=1e-4)
        ours, alone = batch.predictions[item], single.predictions[0]
        assert [likely.label for likely in ours] == [likely.label for likely in alone]


def test_t5_without_a_target_reads_its_start_token(t5):
    prepared = t5.prepare("the cat")
    assert prepared.tensors["decoder_input_ids"].tolist() == [[0]]
    assert len(t5.forward(prepared).predictions[0]) == 5


def test_bart_calls_come_in_the_same_order():
    config = hf.BartConfig(
        vocab_size=11, d_model=20, encoder_layers=2, decoder_layers=3, encoder_attention_heads=4,
        decoder_attention_heads=5, encoder_ffn_dim=23, decoder_ffn_dim=23,
        max_position_embeddings=13,
    )  # fmt: skip
    module = built(config, hf.BartForConditionalGeneration)
    run = TextModel(module, word_piece(), "tiny-bart").run([("the cat sat", "the cat")])
    shapes = [(call.query.shape[2], call.key.shape[2]) for call in run.trace.calls]
    assert shapes == [(5, 5)] * 2 + [(3, 3), (3, 5)] * 3
    assert start_token(module, 0) == config.decoder_start_token_id


def test_a_target_is_refused_by_a_model_that_reads_none(bert):
    with pytest.raises(InputError, match="'tiny-bert' reads one text at a time"):
        bert.prepare([("the", "cat")])


def test_roberta_positions_behind_the_padding_one_are_not_counted():
    config = hf.RobertaConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=13, pad_token_id=1,
    )  # fmt: skip
    model = TextModel(built(config, hf.RobertaModel), word_piece(), "tiny-roberta")
    assert model.max_positions == 11
    assert model.run("the " * 17).output.hidden.shape == (1, 11, 20)
