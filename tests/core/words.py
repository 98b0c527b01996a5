"""Tiny tokenizers, built here: a WordPiece one with special tokens, and one token a byte."""

import transformers as hf
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

from core.models.text.labels import BYTE_OF

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "cat", "sat", "##s", "a", "!"]


def bert_tokenizer(padding_side: str = "right") -> hf.PreTrainedTokenizerFast:
    """Eleven pieces; [CLS] before a text and [SEP] behind it."""
    vocabulary = {token: index for index, token in enumerate(PIECES)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=marks
    )
    return hf.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]",
        cls_token="[CLS]", sep_token="[SEP]", padding_side=padding_side,
    )  # fmt: skip


def byte_tokenizer() -> hf.PreTrainedTokenizerFast:
    """One token a byte and no special ones, as a decoder has it."""
    vocabulary = {token: index for index, token in enumerate(BYTE_OF)}
    backend = Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return hf.PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="<|end|>")
