"""Labels: what a visitor typed, uploaded or chose becomes one clean list; changes are noted.

ImageNet's names are open_clip's; CIFAR-10's are of Krizhevsky 2009,
https://www.cs.toronto.edu/~kriz/cifar.html; COCO's of Lin et al. 2014, https://arxiv.org/abs/1405.0312
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

from open_clip import IMAGENET_CLASSNAMES

from core.errors import InputError
from core.models.text.tokens import valid_unicode
from core.zero_shot.labels.file import column, decoded

MOST_LABELS = 10_000
MOST_LETTERS = 5_000  # of one label: far more than any tokeniser reads, so it is a broken file
MOST_BYTES = 5_000_000
ENDINGS = (".txt", ".csv", ".tsv")
# Marks without a shape. At the ends only: inside they join emoji and turn the direction of letters.
UNSEEN = r"\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff"
EDGES = re.compile(f"^[{UNSEEN}]+|[{UNSEEN}]+$")

# open_clip calls two pairs of classes alike, 657 and 744 'missile', 836 and 837 'sunglasses'. As
# labels differ from each other, one of each pair has WordNet's own first word for it: so the place
# of a label stays the number of its class.
APART = {744: "projectile", 836: "sunglass"}

READY: dict[str, tuple[str, ...]] = {
    "ImageNet-1k": tuple(
        APART.get(index, name) for index, name in enumerate(IMAGENET_CLASSNAMES)
    ),
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


def label_list(labels: Iterable[str]) -> LabelList:
    """Clean labels: spaces trimmed, empty ones dropped, equal ones (letter case counts) merged.

    Letters that can be written in two ways, such as é, are written in one (Unicode's NFC).

    Raises:
        InputError: if none is left, more than `MOST_LABELS` are, or one is endless.
    """
    cleaned = [label for label in map(_cleaned, labels) if label]
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
    """The labels of a file: a .csv's column of labels, or its first; of any other, one a line.

    Args:
        data: the whole file; UTF-8, UTF-16, or else Windows-1252, which is noted.
        name: the file's name, whose ending decides.

    Raises:
        InputError: if it is no text, is too large, or holds no label.
    """
    if len(data) > MOST_BYTES:
        raise InputError(
            f"A list of labels of at most {MOST_BYTES // 10**6} MB was wanted; "
            f"'{name}' has {len(data) / 10**6:.1f} MB."
        )
    text, notes = decoded(data, name)
    lines = text.splitlines()
    if name.lower().endswith((".csv", ".tsv")):
        lines, said = column(text, name)
        notes += said
    if not any(line.strip() for line in lines):
        raise InputError(f"At least one label was wanted; '{name}' holds none.")
    labels, merged = label_list(lines)
    return LabelList(labels, notes + merged)


def _cleaned(label: str) -> str:
    whole = unicodedata.normalize("NFC", valid_unicode(label))
    return " ".join(EDGES.sub("", whole).split())


def _merged(cleaned: list[str], labels: tuple[str, ...]) -> tuple[str, ...]:
    repeated = len(cleaned) - len(labels)
    if not repeated:
        return ()
    seen: set[str] = set()
    first = next(label for label in cleaned if label in seen or seen.add(label))
    what = "1 repeated label was" if repeated == 1 else f"{repeated:,} repeated labels were"
    return (f"{what} merged, such as '{first[:40]}'.",)
