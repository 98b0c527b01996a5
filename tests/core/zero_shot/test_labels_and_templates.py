"""Labels and templates: what people type and upload, cleaned or refused with one sentence."""

import open_clip
import pytest
import torch

from core.errors import InputError
from core.zero_shot.labels.alike import read_alike
from core.zero_shot.labels.cut import cut_labels
from core.zero_shot.labels.lists import MOST_LABELS, READY, labels_from_file, parse_labels
from core.zero_shot.labels.templates import (
    MOST_PROMPTS,
    TEMPLATES,
    fill,
    named_templates,
    parse_templates,
    prompts,
)
from tests.core.zero_shot import small


def test_c3_duplicates_merge_with_a_note_empty_lines_go_braces_and_commas_stay():
    found = parse_labels(" cat \n\n{dog}\ncat\n  \nhot dog, with mustard\r\nCat\ncat\n{}")
    assert found.labels == ("cat", "{dog}", "hot dog, with mustard", "Cat", "{}")
    assert found.notes == ("2 repeated labels were merged, such as 'cat'.",)


def test_c3_braces_in_a_label_are_literal_in_a_template():
    assert fill("a {} here", "{}") == "a {} here"
    assert fill("a {} here", "{0} {name}") == "a {0} {name} here"
    assert prompts(["{}", "b"], ["{}", "a {}"]) == ["{}", "b", "a {}", "a b"]


@pytest.mark.parametrize("text", ["", "   ", "\n \n\t\n", "\u00a0"])
def test_no_label_is_refused(text):
    with pytest.raises(InputError, match="At least one label was wanted, one a line; none came"):
        parse_labels(text)


def test_ten_thousand_labels_are_read_and_one_more_is_refused():
    lines = [f"thing {index}" for index in range(MOST_LABELS)]
    assert MOST_LABELS == 10_000
    assert len(parse_labels("\n".join(lines)).labels) == 10_000
    with pytest.raises(InputError, match=r"At most 10,000 labels were wanted; 10,001 came\."):
        parse_labels("\n".join([*lines, "one more"]))


def test_labels_times_templates_have_a_limit():
    labels = [f"thing {index}" for index in range(10_000)]
    assert len(prompts(labels, TEMPLATES["the 7 best"])) == 70_000 <= MOST_PROMPTS
    with pytest.raises(InputError, match="10,000 labels x 80 templates are 800,000"):
        prompts(labels, TEMPLATES["the 80"])
    with pytest.raises(InputError, match="At least one label and one template"):
        prompts([], TEMPLATES["none"])


def test_a_label_of_100_words_is_kept_and_what_is_cut_is_told():
    label = " ".join(f"word{index}" for index in range(100))
    assert parse_labels(label).labels == (label,)
    found = cut_labels(small.clip(), ["cat", label], "a photo of a {}")
    assert list(found) == [label]
    read, cut = found[label]
    assert read.startswith("a photo of a word0 ")
    assert cut.endswith("word99")


def test_an_endless_label_is_refused():
    with pytest.raises(InputError, match="the one that begins 'xxxx.*has 5,001"):
        parse_labels("cat\n" + "x" * 5_001)


def test_a_label_with_half_a_letter_is_shown_with_a_mark():
    assert parse_labels("caf\udce9").labels == ("caf\ufffd",)


def test_the_two_ways_to_write_a_letter_are_one_label():
    assert parse_labels("caf\u00e9\ncafe\u0301").labels == ("caf\u00e9",)


@pytest.mark.parametrize("mark", ["\u200b", "\u2060", "\ufeff", "\u200d", "\u200e", "\u00ad"])
def test_marks_without_a_shape_are_no_label_and_no_part_of_its_ends(mark):
    assert parse_labels(f"{mark}\n{mark} {mark}\n {mark} cat {mark}\ncat").labels == ("cat",)
    with pytest.raises(InputError, match="none came"):
        parse_labels(mark)


@pytest.mark.parametrize("name", ["WOMAN TECHNOLOGIST", "flag: England"])
def test_emoji_of_several_parts_stay_whole(name):
    emoji = {
        "WOMAN TECHNOLOGIST": "\U0001f469\u200d\U0001f4bb",
        "flag: England": "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    }[name]
    assert parse_labels(f"\u200b{emoji}").labels == (emoji,)


def test_labels_that_become_the_same_tokens_are_paired_with_the_first():
    model, labels = small.clip(), ("Cat", "dog", "cat", "CAT", "Straße", "STRASSE")
    found = read_alike(model, labels, "a {}.")
    assert found == (("Cat", "cat"), ("Cat", "CAT"))
    one, other, own = model.encode_texts(["a Cat.", "a cat.", "a dog."])
    torch.testing.assert_close(one, other)
    assert not torch.allclose(one, own, atol=1e-3)


def test_a_tokenizer_that_knows_letter_case_reads_nothing_alike(monkeypatch):
    model = small.clip()
    monkeypatch.setattr(model.text.reading.tokenizer, "clean_fn", lambda text: text)
    assert read_alike(model, ("Cat", "cat"), "{}") == ()


NO_HEADER = "'names.csv' has no column 'label'; its first column was read, from the first line on."
CELLS = ("café", "dog, brown", 'the "best" cat', "{}")
QUOTED = 'id,Label\n1,café\n2,"dog, brown"\n3,"the ""best"" cat"\n4,{}\n'


@pytest.mark.parametrize(
    ("data", "notes"),
    [(QUOTED.encode(), 0),
     (QUOTED.encode("utf-8-sig"), 0),
     (QUOTED.encode("utf-16"), 0),
     (b"\xfe\xff" + QUOTED.encode("utf-16-be"), 0),
     (QUOTED.replace("\n", "\r\n").encode(), 0),
     (QUOTED.encode("latin-1"), 1),
     ("label;id\ncafé;1\ndog, brown;2\n\"the \"\"best\"\" cat\";3\n{};4".encode(), 0),
     ("id\tlabel\n1\tcafé\n2\tdog, brown\n3\t\"the \"\"best\"\" cat\"\n4\t{}".encode(), 0),
     ("label\ncafé\ndog, brown\n\"the \"\"best\"\" cat\"\n{}\n".encode(), 0)],
)  # fmt: skip
def test_a_table_is_read_with_quotes_separators_and_encodings(data, notes):
    found = labels_from_file(data, "names.CSV")
    assert found.labels == CELLS
    assert len(found.notes) == notes


def test_windows_letters_are_read_and_noted():
    found = labels_from_file("naïve “cat”\ndog".encode("cp1252"), "names.txt")
    assert found.labels == ("naïve “cat”", "dog")
    expected = "'names.txt' is not UTF-8; it was read as Windows-1252 (Western European)."
    assert found.notes == (expected,)


def test_a_table_without_the_column_gives_its_first_with_a_note():
    found = labels_from_file(b"cat,1\ndog,2\n\ncat,3\n", "names.csv")
    assert found.labels == ("cat", "dog")
    assert found.notes == (NO_HEADER, "1 repeated label was merged, such as 'cat'.")


@pytest.mark.parametrize(
    ("text", "notes"),
    [("name,id\ncat,1\ndog,2", ("The column 'name' of 'names.csv' was read.",)),
     ("id;Class_Name\n1;cat\n2;dog", ("The column 'class name' of 'names.csv' was read.",)),
     ("class,name\n0,cat\n1,dog", ("The column 'name' of 'names.csv' was read.",)),
     ("Labels\ncat\ndog", ()),
     ("CAPTION\ncat\ndog", ("The column 'caption' of 'names.csv' was read.",)),
     ("\n  \n\t\nid\tlabel\n1\tcat\n2\tdog", ()),
     (",,\n,id,label\n,1,cat\n\n,,\n,2,dog", ()),
     ("sep=;\r\nlabel;id\r\ncat;1\r\ndog;2", ()),
     ('"SEP=|"\ncat|1,5\ndog|2,5', (NO_HEADER,)),
     ("\ncat\ndog", (NO_HEADER,))],
)  # fmt: skip
def test_the_column_of_labels_is_found_by_its_usual_names(text, notes):
    found = labels_from_file(text.encode(), "names.csv")
    assert (found.labels, found.notes) == (("cat", "dog"), notes)


def test_commas_in_few_lines_of_one_column_belong_to_the_labels():
    found = labels_from_file(b'cat, asleep\ndog\n"cow, brown"\nsea\ntown', "x.csv")
    assert found.labels == ("cat, asleep", "dog", "cow, brown", "sea", "town")
    said = "Most lines of 'x.csv' have one cell only; each line was read as one label."
    assert found.notes == (said,)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["x.csv", "x.txt"])
def test_utf_16_without_its_mark_is_seen_by_its_zeros(encoding, name):
    found = labels_from_file("café – “old”\nŁódź\ncat".encode(encoding), name)
    assert found.labels == ("café – “old”", "Łódź", "cat")
    expected = f"'{name}' has no mark of its encoding; it was read as UTF-16."
    assert found.notes[0] == expected


def test_a_text_file_keeps_commas_and_quotes():
    assert labels_from_file(b'\xef\xbb\xbfa "b", c\nd', "x.txt").labels == ('a "b", c', "d")


@pytest.mark.parametrize("data", [b"", b"\n \n", b"\xef\xbb\xbf", b"label\n", b"label,id\n ,1\n"])
def test_an_empty_file_is_refused(data):
    with pytest.raises(InputError, match=r"At least one label was wanted; 'x\.csv' holds none"):
        labels_from_file(data, "x.csv")


@pytest.mark.parametrize(
    "data",
    [b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", b"PK\x03\x04\x14\x00", b"\xff\xfea\x00b", bytes(7),
     b"\x81\x8d cat", "cat".encode("utf-32")],
)  # fmt: skip
@pytest.mark.parametrize("name", ["x.csv", "x.txt"])
def test_a_binary_file_is_refused(data, name):
    with pytest.raises(InputError, match=f"A text file of labels.*'{name}' is"):
        labels_from_file(data, name)


def test_a_file_that_is_too_large_and_a_damaged_table_are_refused():
    with pytest.raises(InputError, match=r"at most 5 MB was wanted; 'x\.txt' has 5\.0 MB"):
        labels_from_file(b"x" * 5_000_001, "x.txt")
    with pytest.raises(InputError, match=r"'x\.csv' is damaged"):
        labels_from_file(b'label,id\n"' + b"x" * 200_000, "x.csv")


def test_ready_lists_are_the_published_ones():
    assert list(READY) == ["ImageNet-1k", "CIFAR-10", "COCO things"]
    assert [len(set(READY[name])) for name in READY] == [1000, 10, 80]
    ours, theirs = READY["ImageNet-1k"], open_clip.IMAGENET_CLASSNAMES
    other = {index: name for index, name in enumerate(ours) if name != theirs[index]}
    assert other == {744: "projectile", 836: "sunglass"}
    assert (ours[657], ours[837]) == ("missile", "sunglasses")
    assert parse_labels("\n".join(ours)) == (ours, ())


def test_the_7_and_the_80_templates_are_those_of_open_clip():
    assert {name: len(own) for name, own in TEMPLATES.items()} == {
        "none": 1, "a photo of a {}": 1, "the 7 best": 7, "the 80": 80,
    }  # fmt: skip
    for name, theirs in (
        ("the 7 best", open_clip.SIMPLE_IMAGENET_TEMPLATES),
        ("the 80", open_clip.OPENAI_IMAGENET_TEMPLATES),
    ):
        filled = [fill(template, "{x} é") for template in named_templates(name)]
        assert filled == [template("{x} é") for template in theirs]


def test_own_templates_are_read_line_by_line():
    assert parse_templates("{}\n\n  a  {}. \n{}") == ("{}", "a {}.")


@pytest.mark.parametrize(
    "line", ["a photo", "{} and {}", "{{}}", "a {name}", "{0}", "{", "{} }", "a { } b"]
)
def test_a_template_without_one_slot_is_refused(line):
    with pytest.raises(InputError) as refused:
        parse_templates(f"a {{}}\n{line}")
    assert f"'{line}' came" in str(refused.value)


def test_no_template_and_an_unknown_name_are_refused():
    with pytest.raises(InputError, match="At least one template, such as 'a photo of a {}'"):
        parse_templates(" \n ")
    with pytest.raises(InputError, match="'the 7 best', 'the 80' was wanted; 'the 8' came"):
        named_templates("the 8")
