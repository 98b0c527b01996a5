import unicodedata

import numpy as np
import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import ByT5Tokenizer, PreTrainedTokenizerFast

from core.maps.words import without, words, words_view
from core.models.text.labels import (
    BYTE_OF,
    characters_of_bytes,
    token_labels,
    visible,
    word_ids,
    word_label,
)
from core.types import Position

MIXED = "café 🙂 שלום Ω"


def wrapped(backend: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=backend)


@pytest.fixture
def byte_level() -> PreTrainedTokenizerFast:
    """Every byte is a token; 'c a f é' grow into one by merges, the space and emoji do in part."""
    merges = [("c", "a"), ("ca", "f"), ("Ã", "©"), ("caf", "Ã©"), ("Ġ", "ð"), ("Ġð", "Ł")]
    tokens = [*BYTE_OF, *("".join(pair) for pair in merges)]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    backend = Tokenizer(models.BPE(vocabulary, merges))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return wrapped(backend)


@pytest.fixture
def metaspace() -> PreTrainedTokenizerFast:
    """As Llama 2 spells: '▁' for a space, bytes for what the vocabulary lacks, no words."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = ["<unk>", *bytes_, "▁", "c", "a", "t", "ca", "cat", "▁cat"]
    merges = [("c", "a"), ("ca", "t"), ("▁", "cat")]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    model = models.BPE(vocabulary, merges, unk_token="<unk>", byte_fallback=True, fuse_unk=True)
    backend = Tokenizer(model)
    backend.normalizer = normalizers.Replace(" ", "▁")
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback()])
    return wrapped(backend)


@pytest.fixture
def word_piece() -> PreTrainedTokenizerFast:
    tokens = ["[UNK]", "play", "##ing", "##s", "now"]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    backend = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.decoder = decoders.WordPiece()
    return wrapped(backend)


def labels_of(tokenizer: PreTrainedTokenizerFast, text: str) -> tuple[str, ...]:
    return token_labels(tokenizer, tokenizer(text).input_ids)


def test_t6_byte_level_labels_are_characters_and_split_ones_are_bytes(byte_level):
    labels = labels_of(byte_level, MIXED)
    assert labels[:4] == ("café", "␣<F0 9F>", "<99>", "<82>")
    assert labels[4:7] == ("␣", "<D7>", "<A9>")  # the first Hebrew letter, in reading order
    assert labels[-2:] == ("<CE>", "<A9>")


def test_t6_the_alphabet_of_bytes_is_that_of_the_tokenizers_library():
    assert set(BYTE_OF) == set(pre_tokenizers.ByteLevel.alphabet())
    assert sorted(BYTE_OF.values()) == list(range(256))


def test_t6_words_joined_from_split_characters_read_as_the_text(byte_level):
    encoding = byte_level(MIXED)
    labels = token_labels(byte_level, encoding.input_ids)
    of_word = zip(labels, encoding.word_ids(), strict=True)
    positions = [Position(label, word=word) for label, word in of_word]
    assert [word.label for word in words(positions)] == ["café", "␣🙂", "␣שלום", "␣Ω"]


def test_t6_added_tokens_are_shown_as_they_are_written(byte_level):
    byte_level.add_special_tokens({"eos_token": "<|é|>"})
    byte_level.add_tokens(["   "])
    assert labels_of(byte_level, "c<|é|>   ") == ("c", "<|é|>", "␣␣␣")


def test_t6_metaspace_is_a_space_and_fallback_bytes_are_bytes(metaspace):
    assert labels_of(metaspace, "cat cat 🙂\n") == (
        *("cat", "␣cat", "␣", "<F0>", "<9F>", "<99>", "<82>", "↵"),
    )


def test_t6_word_pieces_keep_their_mark(word_piece):
    assert labels_of(word_piece, "playings now") == ("play", "##ing", "##s", "now")


def test_t6_a_closing_mark_becomes_the_space_it_stands_for():
    vocabulary = {"c": 0, "a": 1, "t</w>": 2}
    backend = Tokenizer(models.BPE(vocabulary, [], end_of_word_suffix="</w>"))
    backend.decoder = decoders.BPEDecoder("</w>")
    assert token_labels(wrapped(backend), [0, 1, 2]) == ("c", "a", "t␣")


def test_t6_slow_tokenizers_give_their_own_tokens():
    tokenizer = ByT5Tokenizer()
    assert token_labels(tokenizer, tokenizer("a b").input_ids) == ("a", "␣", "b", "</s>")


def test_an_id_beyond_the_vocabulary_is_named_by_its_number(word_piece):
    assert token_labels(word_piece, [1, 97]) == ("play", "<#97>")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (" a\tb\nc", "␣a⇥b↵c"),
        ("\x07\r", "<07><0D>"),
        ("\u202e", "<U+202E>"),  # would turn the rest of the page round
        ("\u00a0\ufeff\u2028", "<U+00A0><U+FEFF><U+2028>"),
        ("\u0301", "◌\u0301"),
        ("</script>🙂", "</script>🙂"),
        ("", ""),
    ],
)
def test_what_cannot_be_seen_is_made_visible(text, shown):
    assert visible(text) == shown


def test_labels_hold_no_invisible_character():
    shown = "".join(visible(chr(code)) for code in range(0x3100))
    unseen = {"Cc", "Cf", "Zs", "Zl", "Zp", "Cs"}
    assert not {unicodedata.category(character) for character in shown} & unseen


def test_words_of_the_tokenizer_are_kept(word_piece):
    encoding = word_piece("playings now")
    labels = token_labels(word_piece, encoding.input_ids)
    assert word_ids(encoding.word_ids(), labels) == (0, 0, 0, 1)


def test_words_begin_at_spaces_where_the_tokenizer_has_none(metaspace):
    encoding = metaspace("cat cat cat")
    assert set(encoding.word_ids()) == {0}
    labels = token_labels(metaspace, encoding.input_ids)
    assert word_ids([None, *encoding.word_ids()], ["<s>", *labels]) == (None, 0, 1, 2)


@pytest.mark.parametrize(
    ("labels", "word"),
    [
        (["un", "##believ", "##able"], "unbelievable"),
        (["␣e", "◌\u0301", "t"], "␣e\u0301t"),
        (["<F0 9F>", "<99>", "<82>", "!"], "🙂!"),
        (["<F0>", "a"], "<F0>a"),
        (["##", "##"], "####"),
    ],
)
def test_the_label_of_a_word_joins_its_tokens(labels, word):
    assert word_label(labels) == word


CLS, UN, DO, NOW = (
    Position("[CLS]", special=True),
    Position("un", word=0),
    Position("##do", word=0),
    Position("now", word=1),
)
MAP = np.array(
    [[0.1, 0.2, 0.3, 0.4], [0.5, 0.1, 0.1, 0.3], [0.1, 0.3, 0.5, 0.1], [0.0, 0.0, 0.0, 1.0]],
    dtype=np.float32,
)


def test_t8_words_add_columns_and_average_rows():
    view = words_view(MAP, [CLS, UN, DO, NOW], [CLS, UN, DO, NOW])
    by_hand = [[0.1, 0.5, 0.4], [0.3, 0.5, 0.2], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(view.weights, by_hand, atol=1e-7)
    assert [position.label for position in view.queries] == ["[CLS]", "undo", "now"]
    assert view.keys == view.queries
    assert [position.special for position in view.keys] == [True, False, False]


def test_t8_words_of_rows_and_columns_may_differ():
    view = words_view(MAP[:2], [UN, DO], [NOW, CLS, UN, DO])
    np.testing.assert_allclose(view.weights, [[0.3, 0.15, 0.55]], atol=1e-7)


def test_t8_a_row_without_weight_does_not_dilute_its_word():
    weights = MAP.copy()
    weights[1] = 0
    view = words_view(weights, [CLS, UN, DO, NOW], [CLS, UN, DO, NOW])
    np.testing.assert_allclose(view.weights[1], [0.1, 0.8, 0.1], atol=1e-7)


def test_positions_without_a_word_stand_alone():
    assert [position.label for position in words([CLS, CLS, UN, DO])] == ["[CLS]", "[CLS]", "undo"]


def test_t8_hiding_positions_leaves_rows_that_sum_to_one():
    keep = np.array([False, True, True, False])
    by_hand = [[0.5, 0.5], [0.375, 0.625]]
    np.testing.assert_allclose(without(MAP, keep, keep), by_hand, atol=1e-7)


def test_a_row_that_looked_only_at_hidden_positions_becomes_zero():
    kept = without(MAP, np.array([False, False, False, True]), np.array([True, True, True, False]))
    assert (kept == 0).all()
    assert kept.shape == (1, 3)


def test_hiding_everything_leaves_an_empty_map():
    nothing = np.zeros(4, dtype=bool)
    assert without(MAP, nothing, nothing).shape == (0, 0)


@pytest.mark.parametrize(
    ("labels", "wholes"),
    [
        # 动 is E5 8A A8, 🙂 is F0 9F 99 82
        (("a", "<E5 8A>", "<A8>", "b"), ("", "动", "动", "")),
        (("␣<F0 9F>", "<99>", "<82>", "<E5>", "<8A A8>"), ("🙂", "🙂", "🙂", "动", "动")),
        (("<E5>", "x", "<8A A8>"), ("", "", "")),  # bytes that were never one character
        (("<E5 8A>", "<A8>", "<E5>"), ("动", "动", "")),  # the last one is cut off
    ],
)
def test_bytes_are_told_what_they_are_parts_of(labels, wholes):
    assert characters_of_bytes(labels) == wholes
