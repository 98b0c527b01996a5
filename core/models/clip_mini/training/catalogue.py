"""Every picture that clip-mini can learn from, with its name and the other words for it.

Sources: the names of emojilib (after Unicode's CLDR), and the file names of openclipart.
"""

import json
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from open_clip import IMAGENET_CLASSNAMES

# Flags are names of countries, and a skin tone or a letter in a box is no thing to look at.
NO_CATEGORIES = ("Flags", "Component")
NO_SUBCATEGORIES = ("keycap", "alphanum")
# Shapes by the hundred, icons and flags: pictures of nothing that a word could name.
NO_FOLDERS = (
    "computer/buttons", "computer/icons", "recreation/games/cards", "shapes/callouts",
    "shapes/flowchart", "shapes/jigsaw", "shapes/stars", "signs_and_symbols/flags",
    "signs_and_symbols/led", "special",
)  # fmt: skip
FOLDERS_WITHOUT_MEANING = ("unsorted", "duplicates")
# Words of file names that stand there as a part of an artist's name, or say nothing.
NO_WORDS = frozenset(
    {
        "an",
        "architetto",
        "art",
        "buculei",
        "by",
        "dan",
        "francesco",
        "franc",
        "gerald",
        "jack",
        "jean",
        "jo",
        "jon",
        "kim",
        "lee",
        "mark",
        "may",
        "nicu",
        "of",
        "pack",
        "park",
        "phillips",
        "png",
        "st",
        "the",
        "theerud",
        "will",
    }  # fmt: skip
)
MOST_PIXELS = 6_000_000  # a few drawings are as large as a wall
EMOJI = ("google", "twitter")
AFTER_THE_HEAD = re.compile(r"\b(?:with|of|in|on|behind|and|at|for|from|over|to|without)\b|[:,(]")


@dataclass(frozen=True)
class Item:
    """One picture."""

    path: Path
    source: str  # 'google', 'twitter' or 'openclipart'
    name: str
    heads: tuple[str, ...]  # nouns that decide on which side of a split it falls; the first leads
    keywords: tuple[str, ...]  # other words for it, each a caption of its own

    @property
    def is_emoji(self) -> bool:
        """Does it come from one of the two emoji sets?"""
        return self.source in EMOJI


def catalogue(folders: dict[str, Path]) -> list[Item]:
    """All pictures of the fetched folders, in a fixed order."""
    found = emoji(folders)
    return found + clipart(folders["openclipart"], vocabulary(found))


def emoji(folders: dict[str, Path]) -> list[Item]:
    """The pictures of both emoji sets."""
    package = folders["google"] / "package"
    records = json.loads((package / "emoji.json").read_text(encoding="utf-8"))
    words = json.loads(
        (folders["emojilib"] / "package/dist/emoji-en-US.json").read_text(encoding="utf-8")
    )
    items = []
    for record in records:
        known = words.get(_character(record["unified"])) or words.get(
            _character(record["non_qualified"] or record["unified"])
        )
        if not known or record["category"] in NO_CATEGORIES:
            continue
        if record["subcategory"] in NO_SUBCATEGORIES:
            continue
        name, *others = dict.fromkeys(map(plain, known))
        others = [word for word in others if re.search("[a-z]{2}", word)]
        keywords = (*others, plain(record["subcategory"].replace("-", " ")))
        for source in EMOJI:
            path = folders[source] / "package/img" / source / "64" / record["image"]
            if record[f"has_img_{source}"] and path.is_file():
                items.append(Item(path, source, name, (head_noun(name),), keywords))
    return items


def clipart(folder: Path, known: frozenset[str]) -> list[Item]:
    """The pictures of openclipart whose file name begins with words that are known."""
    root = folder / "usr/share/openclipart/png"
    items = []
    for path in sorted(root.rglob("*.png")):
        place = path.relative_to(root)
        words = file_words(path.stem, known)
        if place.as_posix().startswith(NO_FOLDERS) or not words or _too_large(path):
            continue
        folders = [part for part in place.parent.parts if part not in FOLDERS_WITHOUT_MEANING]
        keywords = tuple(singular(plain(part)) for part in folders[-1:])
        heads = tuple(dict.fromkeys(singular(word) for word in reversed(words)))
        items.append(Item(path, "openclipart", " ".join(dict.fromkeys(words)), heads, keywords))
    return items


def vocabulary(items: list[Item]) -> frozenset[str]:
    """The words of emoji and of ImageNet's class names: what a file name may say."""
    texts = [text for item in items for text in (item.name, *item.keywords[:-1])]
    texts += [name.lower() for name in IMAGENET_CLASSNAMES]
    words = {word for text in texts for word in re.findall("[a-z]{2,}", text)}
    return frozenset(words | {singular(word) for word in words})


def file_words(stem: str, known: frozenset[str]) -> list[str]:
    """The first run of known words of a file name; what follows is most often the artist."""
    split = re.sub("([a-z])([A-Z])", r"\1 \2", stem).lower()
    words: list[str] = []
    for word in re.findall("[a-z]+", split):
        if len(word) > 1 and word not in NO_WORDS and {word, singular(word)} & known:
            words.append(word)
        elif words:
            break
    return words


def plain(text: str) -> str:
    """Small letters, and single spaces in place of underscores."""
    return " ".join(text.replace("_", " ").split()).lower()


def head_noun(name: str) -> str:
    """The noun that a name is about: 'cat' of 'cat with tears of joy', in the singular."""
    before = AFTER_THE_HEAD.split(name)[0]
    words = re.findall(r"[a-z0-9'’\-]+", before) or re.findall(r"[a-z0-9'’\-]+", name)
    return singular(words[-1] if words else name)


def singular(word: str) -> str:
    """The word without the ending of an English plural, by its letters alone."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _character(code: str) -> str:
    return "".join(chr(int(part, 16)) for part in code.split("-"))


def _too_large(path: Path) -> bool:
    with path.open("rb") as file:  # pillow refuses, or warns of, some of these already on opening
        width, height = struct.unpack(">II", file.read(24)[16:])
    return width * height > MOST_PIXELS
