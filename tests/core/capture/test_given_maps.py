"""Models without fused attention: the library's own maps, each of its own group's shape."""

import pytest
import torch
import transformers as hf

from core import maps
from core.errors import InputError
from core.models.text.model import TextModel
from tests.core.words import bert_tokenizer

SEQ2SEQ = {
    "vocab_size": 11, "d_model": 20, "encoder_layers": 2, "decoder_layers": 3,
    "encoder_attention_heads": 4, "decoder_attention_heads": 5, "encoder_ffn_dim": 23,
    "decoder_ffn_dim": 23,
}  # fmt: skip
DECODERS = {
    "bloom": (
        hf.BloomForCausalLM,
        hf.BloomConfig(vocab_size=11, hidden_size=20, n_layer=2, n_head=5, eos_token_id=2),
    ),
    "gpt-neo": (
        hf.GPTNeoForCausalLM,
        hf.GPTNeoConfig(
            vocab_size=11, hidden_size=20, num_layers=2, num_heads=5, intermediate_size=23,
            attention_types=[[["global", "local"], 1]], window_size=3, max_position_embeddings=31,
            bos_token_id=2, eos_token_id=2,
        ),
    ),
}  # fmt: skip


def eager(model_class: type, config: hf.PreTrainedConfig, name: str) -> TextModel:
    torch.manual_seed(0)
    module = model_class._from_config(config, attn_implementation="eager")
    return TextModel(module, bert_tokenizer(), name)


@pytest.mark.parametrize("given", ["the cat sat", ["the cat", "the cat sat a"]])
@pytest.mark.parametrize("name", DECODERS)
def test_a_map_without_a_look_ahead_is_marked_causal(name, given):
    model = eager(*DECODERS[name], name)
    run = model.run(given)
    with torch.inference_mode():
        wanted = model.own_maps(run.prepared)
    for call, layer in zip(run.trace.calls, wanted, strict=True):
        assert call.is_causal
        torch.testing.assert_close(maps.head_map(call, 3), layer[0, 3])
        may = maps.allowed_cells(call, 3)
        assert torch.equal(may, torch.ones_like(may).tril())


def test_the_maps_of_an_encoder_are_not_causal():
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31,
    )  # fmt: skip
    run = eager(hf.BertModel, config, "tiny").run(["the cat", "the cat sat"])
    assert not any(call.is_causal for call in run.trace.calls)


def test_each_map_of_an_encoder_decoder_has_its_own_shape():
    config = hf.BartConfig(**SEQ2SEQ, max_position_embeddings=13)
    run = eager(hf.BartForConditionalGeneration, config, "bart").run([("the cat sat", "the cat")])
    shapes = [(c.heads, c.query.shape[2], c.key.shape[2]) for c in run.trace.calls]
    assert shapes == [(4, 5, 5)] * 2 + [(5, 3, 3), (5, 3, 5)] * 3
    assert [call.is_causal for call in run.trace.calls] == [False] * 2 + [True, False] * 3
    cross = maps.head_map(run.trace.calls[3], 4)
    torch.testing.assert_close(cross.sum(dim=-1), torch.ones(3))


def test_maps_inside_windows_are_refused_in_a_sentence():
    limits = {"max_encoder_position_embeddings": 31, "max_decoder_position_embeddings": 31}
    led = hf.LEDConfig(**SEQ2SEQ, **limits, attention_window=4)
    longformer = hf.LongformerConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, attention_window=4, max_position_embeddings=31, sep_token_id=3,
    )  # fmt: skip
    for model_class, config in (
        (hf.LEDForConditionalGeneration, led),
        (hf.LongformerModel, longformer),
    ):
        model = eager(model_class, config, "windowed")
        with pytest.raises(InputError, match="column for each of 8 keys .* maps of 5 columns"):
            model.run("the cat sat the cat sat")
