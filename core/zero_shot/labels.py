"""Labels: what a visitor typed, uploaded or chose becomes one clean list; changes are noted.

ImageNet's names are open_clip's; CIFAR-10's are of Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html; COCO's of Lin et al. 2014, https://arxiv.org/abs/1405.0312
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable
from typing import NamedTuple

from open_clip import IMAGENET_CLASSNAMES

from core.errors import InputError
from core.models.tokens import valid_unicode

MOST_LABELS = 10_000
MOST_LETTERS = 5_000  # of one label: far more than any tokeniser reads, so it is a broken file
MOST_BYTES = 5_000_000
NO_TEXT = re.compile(r"[\x00-\x08\x0e-\x1f]")  # control characters that only binary files hold
SEPARATORS = ",;\t|"
ENDINGS = (".txt", ".csv", ".tsv")

READY: dict[str, tuple[str, ...]] = {
    "ImageNet-1k": tuple(IMAGENET_CLASSNAMES),
    "CIFAR-10": (
        "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
    ),
    "COCO things": (
        "person", "bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat",
        "traffic light", "fire hydrant", "stop sign", "parking meter", "bench", "bird", "cat",
        "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe", "backpack",
        "umbrella", "handbag", "tie", "suitcase", "frisbee", "skis", "snowboard", "sports ball",
        "kite", "baseball bat", "baseball glove", "skateboard", "surfboard", "tennis racket",
        "bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl", "banana", "apple",
        "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake", "chair",
        "couch", "potted plant", "bed", "dining table", "toilet", "tv", "laptop", "mouse",
        "remote", "keyboard", "cell phone", "microwave", "oven", "toaster", "sink",
        "refrigerator", "book", "clock", "vase", "scissors", "teddy bear", "hair drier",
        "toothbrush",
    ),
}  # fmt: skip


class LabelList(NamedTuple):
    """Labels that differ from each other, in the order in which they came."""

    labels: tuple[str, ...]
    notes: tuple[str, ...] = ()  # one sentence each: what was merged or how a file was read


def parse_labels(text: str) -> LabelList:
    """The labels of a text field, one a line; commas and braces belong to the label.

    Raises:
        InputError: if there is no label, there are too many, or one is endless.
    """
    return label_list(text.splitlines())


def label_list(given: Iterable[str]) -> LabelList:
    """Clean labels: spaces trimmed, empty ones dropped, equal ones (letter case counts) merged.

    Raises:
        InputError: if none is left, more than `MOST_LABELS` are, or one is endless.
    """
    cleaned = [" ".join(valid_unicode(label).split()) for label in given]
    cleaned = [label for label in cleaned if label]
    labels = tuple(dict.fromkeys(cleaned))
    if not labels:
        raise InputError("At least one label was wanted, one a line; none came.")
    if len(labels) > MOST_LABELS:
        raise InputError(f"At most {MOST_LABELS:,} labels were wanted; {len(labels):,} came.")
    longest = max(labels, key=len)
    if len(longest) > MOST_LETTERS:
        raise InputError(
            f"Labels of at most {MOST_LETTERS:,} letters were wanted; "
            f"the one that begins '{longest[:30]}' has {len(longest):,}."
        )
    return LabelList(labels, _merged(cleaned, labels))


def labels_from_file(data: bytes, name: str) -> LabelList:
    """The labels of a file: a .csv's column 'label', or its first; of any other, one a line.

    Args:
        data: the whole file; UTF-8, UTF-16 with its mark, or else Windows-1252, which is noted.
        name: the file's name, whose ending decides.

    Raises:
        InputError: if it is no text, is too large, or holds no label.
    """
    if len(data) > MOST_BYTES:
        raise InputError(
            f"A list of labels of at most {MOST_BYTES // 10**6} MB was wanted; "
            f"'{name}' has {len(data) / 10**6:.1f} MB."
        )
    text, notes = _decoded(data, name)
    lines = text.splitlines()
    if name.lower().endswith((".csv", ".tsv")):
        lines, said = _column(text, name)
        notes += said
    if not any(line.strip() for line in lines):
        raise InputError(f"At least one label was wanted; '{name}' holds none.")
    labels, merged = label_list(lines)
    return LabelList(labels, notes + merged)


def _merged(cleaned: list[str], labels: tuple[str, ...]) -> tuple[str, ...]:
    repeated = len(cleaned) - len(labels)
    if not repeated:
        return ()
    seen: set[str] = set()
    first = next(label for label in cleaned if label in seen or seen.add(label))
    what = "1 repeated label was" if repeated == 1 else f"{repeated:,} repeated labels were"
    return (f"{what} merged, such as '{first[:40]}'.",)


def _decoded(data: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """The text of a file, and a note where its encoding had to be guessed."""
    notes: tuple[str, ...] = ()
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        try:
            text = data.decode("utf-16" if wide else "utf-8-sig")
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


def _column(text: str, name: str) -> tuple[list[str], tuple[str, ...]]:
    """The cells of the column 'label', or of the first one with a note."""
    head = text.split("\n", 1)[0]
    # The unit separator is in no label: a line without separators is one column, commas and all.
    separator = max(SEPARATORS, key=head.count) if set(SEPARATORS) & set(head) else "\x1f"
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text, newline=""), delimiter=separator) if row
        ]
    except csv.Error as error:
        raise InputError(f"A table of labels was wanted; '{name}' is damaged ({error}).") from error
    header = [cell.strip().lower() for cell in rows[0]] if rows else []
    if "label" in header:
        index = header.index("label")
        return [row[index] for row in rows[1:] if len(row) > index], ()
    note = f"'{name}' has no column 'label'; its first column was read, from the first line on."
    return [row[0] for row in rows], (note,)
