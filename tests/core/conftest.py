"""One thread for all of core's tests, and tiny models that several files read texts with."""

from collections.abc import Iterator

import pytest
import torch
import transformers as hf

from core.models.text.model import TextModel
from tests.core.models.text.tiny_text import bert_module, built, word_piece


@pytest.fixture(autouse=True, scope="module")
def one_thread() -> Iterator[None]:
    """A second thread has nothing to do in tensors of ten numbers, and waking it takes longer."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


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
