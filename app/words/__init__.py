"""Every sentence shown, by key, one table a language."""

import re

from app.words.en import WORDS


def say(key: str, **values: object) -> str:
    """The sentence of a key, with its gaps filled.

    Raises:
        KeyError: if there is no such sentence.
    """
    return WORDS[key].format(**values) if values else WORDS[key]


def plain(text: object) -> str:
    """Text that Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]()#+.!|<>~:$-])", r"\\\1", str(text))
