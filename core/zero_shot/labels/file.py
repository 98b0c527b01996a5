"""Files of labels: bytes become text, and a table its column of labels; guesses are noted.

Source: RFC 4180 for tables, https://www.rfc-editor.org/rfc/rfc4180; the line 'sep=;' is Excel's.
"""

import codecs
import csv
import io
import re
from typing import NamedTuple

from core.errors import InputError

NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")  # control characters that only binary files hold
SEPARATORS = ",;\t|"
UNIT = "\x1f"  # the unit separator is in no label: a table of one column, commas and all
EXCEL = re.compile(r'"?sep=(.)"?', re.IGNORECASE)
PLAIN = ("label", "labels")  # nobody doubts these: no note
# What a column of labels is called, the surest first: beside a 'name' a 'class' is often a number.
HEADERS = (
    *PLAIN, "label name", "class name", "classname", "name", "names", "category", "class",
    "caption", "text", "title", "word", "words",
)  # fmt: skip


class Read(NamedTuple):
    """What a file holds, and one sentence for each thing that was guessed."""

    lines: list[str]
    notes: tuple[str, ...] = ()


def decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a note where its encoding had to be guessed.

    Raises:
        InputError: if it is no text.
    """
    notes: tuple[str, ...] = ()
    wide = _wide(data)
    try:
        try:
            text = data.decode(wide or "utf-8-sig")
            if wide.startswith("utf-16-"):
                notes = (f"'{name}' has no mark of its encoding; it was read as UTF-16.",)
        except UnicodeDecodeError:
            text = data.decode("cp1252")
            notes = (f"'{name}' is not UTF-8; it was read as Windows-1252 (Western European).",)
    except UnicodeDecodeError as error:
        raise InputError(
            "A text file of labels in UTF-8, UTF-16 or Windows-1252 was wanted; "
            f"'{name}' is none of them."
        ) from error
    if NO_TEXT.search(text):
        raise InputError(f"A text file of labels was wanted; '{name}' is not text.")
    return text, notes


def column(text: str, name: str) -> Read:
    """The cells of the column of labels, or of the first one with a note.

    The first line decides what separates the cells. Where hardly any other line has that, it
    belongs to the labels, as in 'cat, asleep', and each line is one.

    Raises:
        InputError: if the table is damaged.
    """
    text, separator = _separator(text)
    rows = _rows(text, separator, name)
    header = [_header(cell) for cell in rows[0]] if rows else []
    found = next((wanted for wanted in HEADERS if wanted in header), None)
    if found:
        index = header.index(found)
        said = () if found in PLAIN else (f"The column '{found}' of '{name}' was read.",)
        return Read([row[index] for row in rows[1:] if len(row) > index], said)
    split = sum(len(row) > 1 for row in rows)
    if 0 < split < len(rows) / 2:
        said = f"Most lines of '{name}' have one cell only; each line was read as one label."
        return Read([row[0] for row in _rows(text, UNIT, name)], (said,))
    said = f"'{name}' has no column 'label'; its first column was read, from the first line on."
    return Read([row[0] for row in rows], (said,))


def _wide(data: bytes) -> str:
    """The name of the UTF-16 that a file is in, marked or seen by its zeros; '' for others."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    even, odd = data[::2], data[1::2]
    # Letters of Europe have a zero beside them, always on the same side.
    for encoding, zeros, letters in (("utf-16-le", odd, even), ("utf-16-be", even, odd)):
        if 2 * zeros.count(0) > len(zeros) and not letters.count(0):
            return encoding
    return ""


def _separator(text: str) -> tuple[str, str]:
    """The table from its first line with something in it, and what separates its cells."""
    lines = text.splitlines(keepends=True)
    start = next((index for index, line in enumerate(lines) if line.strip()), 0)
    first = lines[start].rstrip("\r\n") if lines else ""
    if excel := EXCEL.fullmatch(first):
        return "".join(lines[start + 1 :]), excel[1]
    found = set(SEPARATORS) & set(first)
    return text, max(SEPARATORS, key=first.count) if found else UNIT


def _rows(text: str, separator: str, name: str) -> list[list[str]]:
    """The rows that hold something."""
    try:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
        return [row for row in rows if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise InputError(f"A table of labels was wanted; '{name}' is damaged ({error}).") from error


def _header(cell: str) -> str:
    return " ".join(re.sub(r"[_-]", " ", cell).lower().split())
