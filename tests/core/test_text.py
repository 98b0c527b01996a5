import socket
from copy import deepcopy
from itertools import groupby

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from core.errors import InputError
from core.models import hub, text, text_model, weights
from core.models.labels import BYTE_OF, word_label
from core.models.next_token import next_logits
from core.models.text_facts import start_token, trunk
from core.models.text_model import TextModel
from core.models.tokens import read, special_ids

CAT, LONG = "the cat sat", "the cat sat the cat"
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "</s>", "!"]


def word_piece(
    *, closing: str = "[CLS] $A [SEP]", more: tuple[str, ...] = ()
) -> hf.PreTrainedTokenizerFast:
    vocabulary = {token: index for index, token in enumerate((*PIECES, *more))}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.Lowercase()
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    marks = [(mark, vocabulary[mark]) for mark in closing.split() if mark != "$A"]
    backend.post_processor = processors.TemplateProcessing(single=closing, special_tokens=marks)
    named = {"cls_token": "[CLS]", "sep_token": "[SEP]"} if "[CLS]" in closing else {}
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]", **named
    )


def byte_level(**named) -> hf.PreTrainedTokenizerFast:
    """One token a byte, no token for padding, as GPT-2 has none."""
    vocabulary = {token: index for index, token in enumerate(BYTE_OF)}
    backend = Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>", **named)


def built(config: hf.PreTrainedConfig, model_class: type) -> hf.PreTrainedModel:
    torch.manual_seed(0)
    kind = "sdpa" if model_class._supports_sdpa else "eager"
    return model_class._from_config(config, attn_implementation=kind).eval()


def bert_module() -> hf.BertModel:
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=7,
    )  # fmt: skip
    return built(config, hf.BertModel)


SMALL = {
    "vocab_size": 259, "hidden_size": 24, "intermediate_size": 29, "num_hidden_layers": 3,
    "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 31,
    "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0,
}  # fmt: skip
NO_SHARED = {name: value for name, value in SMALL.items() if name != "num_key_value_heads"}
DECODERS = {
    "gpt2": (
        hf.GPT2Config(vocab_size=259, n_embd=20, n_layer=3, n_head=5, n_positions=31,
                      bos_token_id=1, eos_token_id=2),
        hf.GPT2LMHeadModel,
    ),
    "llama": (hf.LlamaConfig(**SMALL), hf.LlamaForCausalLM),
    # the head asks the decoder inside the trunk
    "opt": (hf.OPTConfig(**NO_SHARED, ffn_dim=29, word_embed_proj_dim=24), hf.OPTForCausalLM),
    # scores are scaled, or capped, after the head
    "cohere": (hf.CohereConfig(**SMALL, logit_scale=0.5), hf.CohereForCausalLM),
    "gemma2": (
        hf.Gemma2Config(**SMALL, head_dim=6, final_logit_softcapping=0.1), hf.Gemma2ForCausalLM
    ),
}  # fmt: skip


def decoder(name: str, **named) -> TextModel:
    config, model_class = DECODERS[name]
    return TextModel(built(deepcopy(config), model_class), byte_level(**named), name)


@pytest.fixture
def bert() -> TextModel:
    return TextModel(bert_module(), word_piece(), "tiny-bert")


@pytest.fixture
def t5() -> TextModel:
    config = hf.T5Config(
        vocab_size=11, d_model=20, d_kv=5, d_ff=23, num_layers=2, num_decoder_layers=3, num_heads=4,
        decoder_start_token_id=0,
    )  # fmt: skip
    module = built(config, hf.T5ForConditionalGeneration)
    return TextModel(module, word_piece(closing="$A </s>"), "tiny-t5")


@pytest.fixture(scope="module")
def minilm() -> TextModel:
    if not weights.ready("minilm"):
        pytest.skip("the weights of minilm are not in the cache")
    return text.load_minilm()


@pytest.fixture(scope="module")
def smollm2() -> TextModel:
    if not weights.ready("smollm2"):
        pytest.skip("the weights of smollm2 are not in the cache")
    return text.load_smollm2()


def labels(model: TextModel, given, item: int = 0, group: int = 0) -> list[str]:
    return [position.label for position in model.prepare(given).groups[group].queries[item]]


def test_t8_as_many_labels_as_positions_special_ones_included(bert):
    prepared = bert.prepare("the cats sat!")
    positions = prepared.groups[0].queries[0]
    assert prepared.tensors["input_ids"].shape == (1, len(positions))
    shown = ["[CLS]", "the", "cat", "##s", "sat", "!", "[SEP]"]
    assert [position.label for position in positions] == shown
    assert [position.special for position in positions] == [True, *[False] * 5, True]
    assert [position.word for position in positions] == [None, 0, 1, 1, 2, 3, None]


@pytest.mark.parametrize(("side", "first"), [("right", (0, 0)), ("left", (2, 0))])
def test_t8_each_text_of_a_padded_batch_is_cut_to_its_own_length(bert, side, first):
    bert.tokenizer.padding_side = side
    prepared = bert.prepare([CAT, LONG])
    group = prepared.groups[0]
    assert [len(own) for own in group.queries] == [5, 7]
    assert group.first_query == group.first_key == first
    mask = prepared.tensors["attention_mask"]
    for item, own in enumerate(group.queries):
        start = group.first_query[item]
        assert mask[item].nonzero().flatten().tolist() == list(range(start, start + len(own)))


@pytest.mark.parametrize("given", [CAT, [CAT], [CAT, CAT]])
def test_no_mask_is_made_where_nothing_is_padded(bert, given):
    assert set(bert.prepare(given).tensors) == {"input_ids"}


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "[SEP]"])
def test_blank_text_is_explained(bert, blank):
    with pytest.raises(InputError, match=r"^Type at least one word\.$"):
        bert.prepare(blank)
    with pytest.raises(InputError, match=r"^Text 2 of 2: type at least one word\.$"):
        bert.prepare([CAT, blank])


def test_no_texts_at_all_are_explained(bert):
    with pytest.raises(InputError, match="Type at least one word"):
        bert.prepare([])


def test_a_long_text_is_cut_and_the_rest_is_given_back(bert):
    prepared = bert.prepare("the cat sat the cat sat the cat")
    assert prepared.notes == ("The first 7 of 10 tokens were read.",)
    assert prepared.texts == ("the cat sat the cat",)
    assert prepared.cut == (" sat the cat",)
    assert labels(bert, prepared.texts[0])[-1] == "[SEP]"


def test_large_numbers_of_tokens_are_grouped_by_thousands(bert):
    assert bert.prepare("the " * 12_500).notes == ("The first 7 of 12,502 tokens were read.",)


def test_too_many_sentences_are_refused_before_they_are_read(bert, monkeypatch):
    assert len(bert.prepare([CAT] * 64).texts) == 64
    monkeypatch.setattr(bert, "_read", lambda *_, **__: pytest.fail("was read"))
    with pytest.raises(InputError, match="At most 64 sentences .* wanted; 2,000 came: run fewer"):
        bert.prepare([CAT] * 2000)


def test_a_batch_of_too_many_tokens_is_refused(bert, t5, monkeypatch):
    monkeypatch.setattr(text_model, "MAX_TOKENS", 20)
    assert bert.prepare([CAT] * 4).tensors["input_ids"].shape == (4, 5)
    wanted = "At most 20 tokens in one run were wanted; {} sentences of up to {} came: run fewer"
    with pytest.raises(InputError, match=wanted.format(3, 7)):
        bert.prepare([CAT, CAT, LONG])
    with pytest.raises(InputError, match=wanted.format(5, 6)):
        t5.prepare([("the", LONG)] * 5)


def test_one_text_is_cut_to_what_a_run_may_hold(bert, monkeypatch):
    monkeypatch.setattr(text_model, "MAX_TOKENS", 5)
    assert bert.prepare(LONG).notes == ("The first 5 of 7 tokens were read.",)


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("the didn't sat", ["the", "didn't", "sat"]),
        ("Didn’t the cat", ["didn’t", "the", "cat"]),
        ("cats' t", ["cats", "'", "t"]),
        ("'cat' t", ["'", "cat", "'", "t"]),
        ("t't't", ["t't't"]),
    ],
)
def test_an_apostrophe_between_letters_does_not_end_a_word(typed, words):
    tokenizer = word_piece(more=("didn", "'", "’", "t"))
    own = [p for p in read(tokenizer, typed, 31).positions if not p.special]
    pieces = [[p.label for p in part] for _, part in groupby(own, key=lambda p: p.word)]
    assert [word_label(labels) for labels in pieces] == words


def test_an_apostrophe_that_a_token_begins_with_is_joined_too():
    tokenizer = byte_level()
    own = read(tokenizer, "I didn't, 'cat'", 31).positions
    pieces = ["".join(p.label for p in part) for _, part in groupby(own, key=lambda p: p.word)]
    assert pieces == ["I", "␣didn't", ",", "␣'", "cat", "'"]


def test_a_cut_text_of_several_is_named_by_its_number(bert):
    prepared = bert.prepare([CAT, CAT * 5])
    assert prepared.notes[0].startswith("Text 2 of 2: the first 7 of ")
    assert prepared.cut[0] == ""


def test_fifty_thousand_characters_are_read_as_far_as_they_fit(bert, capfd):
    prepared = bert.prepare("the " * 12_500)
    assert prepared.tensors["input_ids"].shape == (1, 7)
    assert len(prepared.texts[0]) + len(prepared.cut[0]) == 50_000
    assert capfd.readouterr() == ("", "")


def test_a_slow_tokenizer_cuts_too():
    module = built(hf.T5Config(
        vocab_size=384, d_model=20, d_kv=5, d_ff=23, num_layers=2, num_heads=4,
    ), hf.T5ForConditionalGeneration)  # fmt: skip
    model = TextModel(module, hf.ByT5Tokenizer(model_max_length=5), "tiny-byt5")
    prepared = model.prepare("abcdefg")
    assert (prepared.texts, prepared.cut) == (("abcd",), ("efg",))
    assert [position.label for position in prepared.groups[0].queries[0]] == [*"abcd", "</s>"]


@pytest.mark.parametrize("odd", ["</script>", "\x00\x07", "🙂", "שלום", "{braces}", "a\u202eb"])
def test_odd_texts_come_back_as_they_were(odd):
    model = decoder("llama")
    prepared = model.prepare(odd)
    assert prepared.texts == (odd,)
    assert bytes(BYTE_OF[token] for token in model.tokenizer.convert_ids_to_tokens(
        prepared.tensors["input_ids"][0].tolist()
    )).decode() == odd  # fmt: skip


def test_lone_surrogates_are_replaced_and_told():
    prepared = decoder("llama").prepare("a\ud800b")
    assert prepared.texts == ("a�b",)
    assert prepared.notes == ("Characters that are not valid Unicode were read as '�'.",)


def test_special_ids_leave_out_what_stands_for_text():
    assert special_ids(word_piece()) == {0, 2, 3}
    assert special_ids(byte_level(unk_token="<|end|>")) == {256}  # as in GPT-2


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
        torch.testing.assert_close(call.given, layer)


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


@pytest.fixture
def saved(tmp_path, bert, capfd):
    bert.module.save_pretrained(tmp_path)
    bert.tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    return tmp_path


def test_a_local_folder_loads_as_it_was_saved_and_in_silence(saved, bert, capfd):
    model = text.load_transformers(saved)
    assert (model.family, model.max_positions, model.dtype) == ("encoder", 7, torch.float32)
    expected, found = (either.forward(either.prepare(CAT)).hidden for either in (bert, model))
    torch.testing.assert_close(found, expected)
    assert capfd.readouterr() == ("", "")


def test_loading_leaves_the_librarys_logging_as_it_was(saved):
    before = (hf.logging.get_verbosity(), hf.logging.is_progress_bar_enabled())
    text.load_transformers(str(saved), "cpu", torch.bfloat16)
    assert (hf.logging.get_verbosity(), hf.logging.is_progress_bar_enabled()) == before


def test_missing_weights_are_told_not_made_up(saved):
    state = load_file(saved / "model.safetensors")
    state.pop("encoder.layer.1.output.dense.weight")
    save_file(state, saved / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 are missing .* encoder\.layer\.1\.output\.dense"):
        text.load_transformers(saved)


def test_broken_weights_are_explained(saved):
    (saved / "model.safetensors").write_bytes(b"\x09\x00\x00\x00\x00\x00\x00\x00nonsense")
    with pytest.raises(InputError, match="transformers cannot load it"):
        text.load_transformers(saved)


def test_a_folder_without_weights_is_explained(saved):
    (saved / "model.safetensors").unlink()
    with pytest.raises(InputError, match="safetensors"):
        text.load_transformers(saved)


def test_pickles_are_refused(saved):
    (saved / "model.safetensors").rename(saved / "pytorch_model.bin")
    with pytest.raises(InputError, match="pickle"):
        text.load_transformers(saved)


def test_a_folder_without_a_tokenizer_is_explained(saved):
    for path in saved.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(InputError, match="with its tokenizer"):
        text.load_transformers(saved)


def test_a_model_of_pictures_is_no_text_model(tmp_path):
    config = hf.ViTConfig(
        hidden_size=20, num_hidden_layers=2, num_attention_heads=5, intermediate_size=23,
        image_size=21, patch_size=7,
    )  # fmt: skip
    hf.ViTModel(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="of the type 'vit', which reads something else"):
        text.load_transformers(tmp_path)


def test_code_that_comes_with_a_model_is_never_run(saved):
    (saved / "evil.py").write_text("raise SystemExit('ran')")
    config = (
        (saved / "config.json").read_text().replace('"model_type": "bert"', '"model_type": "x"')
    )
    auto = '{"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},'
    (saved / "config.json").write_text(config.replace("{", auto, 1))
    with pytest.raises(InputError, match="transformers cannot load it"):
        text.load_transformers(saved)


@pytest.mark.parametrize("name", ["/no/such/folder", "./neither", "~/nor-this"])
def test_a_path_that_is_not_there_is_no_name_of_a_model(name):
    with pytest.raises(InputError, match="there is no folder"):
        text.load_transformers(name)


def test_a_hub_that_does_not_answer_is_told_at_once(monkeypatch):
    def refused(*_, **__):
        raise OSError("nobody there")

    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "create_connection", refused)
    with pytest.raises(InputError, match="hub cannot be reached"):
        text.load_transformers("owner/certainly-not-cached")


def test_a_cached_model_needs_no_hub(saved, monkeypatch):
    monkeypatch.setattr(text, "hub_file", lambda name, file: saved / file)
    monkeypatch.setattr(text, "require_hub", lambda name: pytest.fail("the hub was asked"))
    assert text.load_transformers("owner/name").name == "owner/name"


def test_a_cache_that_lacks_a_part_asks_the_hub(saved, monkeypatch):
    index = '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    (saved / "model.safetensors.index.json").write_text(index)
    (saved / "model.safetensors").rename(saved / "model-1.safetensors")
    monkeypatch.setattr(text, "hub_file", lambda name, file: saved / file)
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        text.load_transformers("owner/name")


def test_minilm_finds_the_nearer_sentence(minilm):
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "Interest rates rose again."]
    with torch.inference_mode():
        cat, kitten, rates = minilm.forward(minilm.prepare(texts)).embedding
    similarity = torch.nn.functional.cosine_similarity
    assert similarity(cat, kitten, dim=0) > 0.5 > 0.2 > similarity(cat, rates, dim=0)


def test_minilm_reads_512_tokens_of_a_long_text(minilm):
    prepared = minilm.prepare("word " * 10_000)
    assert prepared.notes == ("The first 512 of 10,002 tokens were read.",)
    assert prepared.texts[0] == ("word " * 510).rstrip()


def test_smollm2_knows_the_capital_of_france(smollm2):
    with torch.inference_mode():
        likely = smollm2.forward(smollm2.prepare(" The capital of France is")).predictions[0]
    assert likely[0].label == "␣Paris"
    assert sum(next_token.probability for next_token in likely) <= 1


def test_t6_smollm2_labels_are_characters(smollm2):
    shown = labels(smollm2, "café 🙂 שלום Ω")
    assert shown[:6] == ["c", "af", "é", "␣🙂", "␣<D7>", "<A9>"]
    assert shown[-2:] == ["␣<CE>", "<A9>"]
