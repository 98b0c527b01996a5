"""Tiny text models and tokenizers, built without any file."""

from copy import deepcopy

import torch
import transformers as hf
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from core.models.text.labels import BYTE_OF
from core.models.text.model import TextModel

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


def labels(model: TextModel, given, item: int = 0, group: int = 0) -> list[str]:
    return [position.label for position in model.prepare(given).groups[group].queries[item]]
