"""Texts as CLIP reads them: the tokenizer's own ids, labels for people, and what was cut."""

import open_clip
import pytest
from open_clip.tokenizer import HFTokenizer

from core.errors import InputError
from core.models.clip.reading import Reading
from tests.core.models.clip import tiny
from tests.core.models.clip.tiny import CONTEXT, TEXTS
from tests.core.models.text.tiny_text import word_piece

START, END = 49406, 49407
HARD = ["Don't  STOP café 🙂 שלום Ω", "two\n dogs, 42!", "x" * 50, "“curly” &amp; <b>", "it's Ærø"]


@pytest.fixture(scope="module")
def clip():
    return Reading(open_clip.SimpleTokenizer(), "tiny")


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pieces")
    word_piece().save_pretrained(folder)
    return Reading(HFTokenizer(str(folder), context_length=7), "tiny")


def labels(tokens):
    return [position.label for position in tokens.positions]


def test_a_prompt_of_100_words_is_77_ids_and_the_words_cut_are_told_c4(clip):
    words = [f"{word}s" for word in ["cat", "dog", "bird", "tree"] * 25]
    ids, tokens = clip.ids([" ".join(words)])[0], clip.tokens(" ".join(words))
    assert len(ids) == 77
    assert (ids[0], ids[-1]) == (START, END)
    assert tokens.ids == tuple(ids.tolist())
    assert tokens.total == 102
    assert tokens.read.split() == words[:75]
    assert tokens.cut.split() == words[75:]
    assert tokens.read + tokens.cut == " ".join(words)


@pytest.mark.parametrize("text", [*TEXTS, *HARD])
def test_ids_are_the_tokenizers_own_and_each_has_a_label(clip, text):
    tokens, own = clip.tokens(text), open_clip.tokenize([text])[0].tolist()
    assert list(tokens.ids) == own[: len(tokens.ids)]
    assert set(own[len(tokens.ids) :]) <= {0}
    assert len(tokens.positions) == len(tokens.ids) == tokens.total
    assert (tokens.read, tokens.cut) == (text, "")


def test_labels_are_what_people_read(clip):
    tokens = clip.tokens("Don't stop café 🙂")
    assert labels(tokens) == ["start", "don␣", "'t␣", "stop␣", "café␣", "🙂␣", "end"]
    words = [position.word for position in tokens.positions]
    assert words == [None, 0, 0, 1, 2, 3, None]
    assert [position.special for position in tokens.positions] == [True, *[False] * 5, True]


def test_a_word_of_several_tokens_is_one_word_and_marks_its_end(clip):
    tokens = clip.tokens("xylophonist")
    assert len(tokens.ids) > 3
    assert "".join(labels(tokens)[1:-1]) == "xylophonist␣"
    assert {position.word for position in tokens.positions[1:-1]} == {0}


def test_a_character_split_over_tokens_shows_as_bytes(clip):
    assert any(label.startswith("<") for label in labels(clip.tokens("𓀀")))


@pytest.mark.parametrize("tail", ["𓀀𓀀𓀀", "CAFÉ", "supercalifragilistic"])
def test_the_cut_lies_at_its_place_in_what_was_typed(clip, tail):
    text = "Big  Cat\n" * 37 + tail + " end"  # 74 tokens: the tail does not fit whole
    tokens = clip.tokens(text)
    assert tokens.read + tokens.cut == text
    assert tokens.read.count("Cat") == 37
    assert tokens.cut.endswith(" end")


def test_a_text_that_cleaning_changes_is_cut_as_cleaned(clip):
    tokens = clip.tokens("&amp; cat " * 90)
    assert tokens.read.split() == (["&", "cat"] * 38)[:75]
    assert tokens.cut.split()[-1] == "cat"


def test_the_end_mark_typed_into_a_text_is_named_as_such(clip):
    assert labels(clip.tokens("a <end_of_text> b")) == ["start", "a␣", "end", "b␣", "end"]


def test_a_tokenizer_of_transformers_cuts_at_its_context(pieces):
    tokens, ids = pieces.tokens("the cat sat the cat sat"), pieces.ids(["the cat sat the cat sat"])
    assert tokens.ids == tuple(ids[0].tolist())
    assert labels(tokens) == ["[CLS]", "the", "cat", "sat", "the", "cat", "[SEP]"]
    assert (tokens.read, tokens.cut) == ("the cat sat the cat", " sat")
    assert pieces.ids(["cat"]).tolist() == [[2, 6, 3, 0, 0, 0, 0]]


def test_a_tokenizer_that_fills_up_in_front_is_refused(tmp_path):
    word_piece().save_pretrained(tmp_path)
    tokenizer = HFTokenizer(str(tmp_path), context_length=7)
    tokenizer.tokenizer.padding_side = "left"
    with pytest.raises(InputError, match="fills it up at its end"):
        Reading(tokenizer, "tiny")


def test_a_batch_keeps_each_text_at_its_own_length(models):
    prepared = models["ViT"].text.prepare(TEXTS)
    assert [len(own) for own in prepared.groups[0].queries] == [4, 7, 3]
    assert [own[-1].label for own in prepared.groups[0].keys] == ["end"] * 3
    assert prepared.texts == tuple(TEXTS)
    assert prepared.notes == ()


def test_what_a_tower_sees_beyond_the_end_is_named_padding(models):
    own = models["SigLIP"].text.prepare("a cat").groups[0].keys[0]
    assert [position.label for position in own] == [
        "start", "a␣", "cat␣", "end", *["padding"] * (CONTEXT - 4),
    ]  # fmt: skip


def test_cut_words_are_noted_and_returned(models):
    text = "the quick brown fox " * 5
    prepared = models["ViT"].text.prepare([text, "a cat"])
    assert prepared.cut[0].split() == text.split()[15:]
    assert prepared.notes == (
        f"'{text[:40]}': the first {CONTEXT} of 22 tokens were read.",
    )  # fmt: skip
    assert models["ViT"].cut_words(text) == (prepared.texts[0], prepared.cut[0])
    assert models["ViT"].cut_words("a cat") == ("a cat", "")


def test_halves_of_surrogate_pairs_are_read(models):
    assert models["ViT"].encode_texts(["a \ud83d cat"]).isfinite().all()
    assert models["ViT"].cut_words("a \ud83d cat")[1] == ""


@pytest.mark.parametrize(
    ("texts", "said"),
    [("  ", "Type at least one word."), ([], "Type at least one word."),
     (["a", "\n"], "Type at least one word (text 2 of 2 is blank).")],
)  # fmt: skip
def test_blank_texts_are_refused(models, texts, said):
    with pytest.raises(InputError) as refused:
        models["ViT"].text.prepare(texts)
    assert str(refused.value) == said


def test_too_many_texts_for_one_run_are_refused(models):
    with pytest.raises(InputError, match="At most 64 texts in one run were wanted; 65 came"):
        models["ViT"].text.prepare(["cat"] * 65)
    assert len(models["ViT"].encode_texts(["cat"] * 65)) == 65


def test_no_picture_is_refused(models):
    with pytest.raises(InputError, match="At least one picture was wanted"):
        models["ViT"].image.prepare([])


def test_pictures_of_one_shape_share_a_geometry(models):
    same = models["ViT"].image.prepare([tiny.pictures()[0]] * 2)
    assert same.geometry.original == (45, 71)
    assert models["ViT"].image.prepare(tiny.pictures()).geometry is None


def test_what_fills_up_a_text_is_not_computed_where_nothing_sees_it(models):
    assert models["CustomText"].text.prepare(TEXTS).tensors["input_ids"].shape == (3, 7)
    assert models["ViT"].text.prepare(TEXTS).tensors["input_ids"].shape == (3, CONTEXT)
