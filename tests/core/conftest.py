"""Tiny models that several test files read texts with."""

import pytest
import transformers as hf

from core.models.text.model import TextModel
from tests.core.models.text.tiny_text import bert_module, built, word_piece


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
