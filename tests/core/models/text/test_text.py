"""Reading texts: labels, batches, what is cut and what comes back."""

from itertools import groupby

import pytest
import transformers as hf

from core.errors import InputError
from core.models.text import model as text_model
from core.models.text.labels import BYTE_OF, word_label
from core.models.text.model import TextModel
from core.models.text.tokens import read, special_ids
from tests.core.models.text.tiny_text import (
    CAT,
    LONG,
    built,
    byte_level,
    decoder,
    labels,
    word_piece,
)


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
