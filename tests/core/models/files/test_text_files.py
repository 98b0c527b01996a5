"""Text files: every encoding that says what it is, and a sentence for whatever is no text."""

import pytest

from core.errors import InputError
from core.models.files.text_files import MOST_BYTES, is_file, text_in, text_of

TEXT = "a quiet river\nשלום Ω 🙂\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_text_is_read_whatever_unicode_it_is_in(encoding):
    assert text_in(TEXT.encode(encoding), "notes.txt") == TEXT


def test_line_ends_are_kept_as_one_kind():
    assert text_in(b"one\r\ntwo\rthree\n", "notes.txt") == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [("café".encode("latin-1"), "in UTF-8 or UTF-16 was wanted; 'notes.txt' is no text"),
     (b"\x89PNG\r\n\x1a\n\0\0", "in UTF-8 or UTF-16 was wanted; 'notes.txt' is no text"),
     (b"\xff\xfea", "in UTF-8 or UTF-16 was wanted; 'notes.txt' is no text"),
     (b"ab\0cd", "'notes.txt' is a binary file"),
     ("ab".encode("utf-32"), "'notes.txt' is a binary file"),
     (b"", "'notes.txt' is empty"),
     (b" \n\t ", "'notes.txt' is empty"),
     (b"a" * (MOST_BYTES + 1), "at most 2 MB was wanted; 'notes.txt' has 2.0 MB")],
)  # fmt: skip
def test_what_is_no_text_is_one_sentence(data, said):
    with pytest.raises(InputError) as refused:
        text_in(data, "notes.txt")
    assert said in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_path_is_told_from_a_text(tmp_path):
    file = tmp_path / "notes.md"
    file.write_text(TEXT, encoding="utf-8")
    assert is_file(str(file))
    assert is_file("not-there.txt")  # so that its absence is told
    assert not is_file("I wrote notes.md")
    assert not is_file("long ago " * 999 + "there was main.py")
    assert text_of(file) == TEXT
    with pytest.raises(InputError, match="cannot be read"):
        text_of(tmp_path / "not-there.txt")
