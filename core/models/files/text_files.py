"""Text files: the text in the bytes of a file, or one sentence on why there is none."""

import codecs
from pathlib import Path

from core.errors import InputError

MOST_BYTES = 2_000_000  # beyond it, making tokens alone takes many seconds
ENDINGS = (".txt", ".md", ".py")  # of what is taken for a file where a text may stand too
WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def is_file(text: str) -> bool:
    """Is this the path of a text file, and not a text itself?"""
    try:
        return text.endswith(".txt") or (text.endswith(ENDINGS) and Path(text).is_file())
    except OSError:  # longer than any path may be
        return False


def text_in(data: bytes, name: str) -> str:
    r"""The text of a file, its line ends as \n.

    Raises:
        InputError: if it is too large, blank, binary, or in another encoding.
    """
    if len(data) > MOST_BYTES:
        raise InputError(
            f"A text file of at most {MOST_BYTES / 1e6:.0f} MB was wanted; "
            f"'{name}' has {len(data) / 1e6:.1f} MB."
        )
    try:
        text = data.decode("utf-16" if data.startswith(WIDE) else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"A text file in UTF-8 or UTF-16 was wanted; '{name}' is no text, or in another "
            "encoding."
        ) from error
    if "\0" in text:
        raise InputError(f"A text file was wanted; '{name}' is a binary file.")
    if not text.strip():
        raise InputError(f"A file with some text was wanted; '{name}' is empty.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_of(path: Path) -> str:
    """The text of a file on this machine.

    Raises:
        InputError: if it cannot be read, or holds no text.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise InputError(f"A text file was wanted; '{path}' cannot be read.") from error
    return text_in(data, str(path))
