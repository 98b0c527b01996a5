"""Every sentence shown, by key, one table a language."""

from app.words.en import WORDS


def say(key: str, **values: object) -> str:
    """The sentence of a key, with its gaps filled.

    Raises:
        KeyError: if there is no such sentence.
    """
    return WORDS[key].format(**values) if values else WORDS[key]
