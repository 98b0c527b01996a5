"""Files of a model that cannot be loaded, whatever is wrong with them: one sentence, and a log."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from core.errors import InputError
from core.models.model import memory_explained

LOG = logging.getLogger("headlight")


@contextmanager
def damage_explained(name: str, sentence: str) -> Iterator[None]:
    """Turn what the libraries raise on a model's files into a sentence, with the reason behind it.

    The error itself goes to the log `headlight`, with its traceback, at the level INFO: without a
    handler for it the console stays silent.

    Raises:
        InputError: in place of any error but another InputError.
    """
    try:
        with memory_explained(name):
            yield
    except InputError:
        raise
    # No list of types would be whole: the libraries take the files' content on trust, and a null
    # or a zero in them surfaces wherever it is first used.
    except Exception as error:
        LOG.info("The files of %r cannot be loaded", name, exc_info=True)
        said = getattr(error, "strerror", None) or str(error)
        first = next((line.strip() for line in said.splitlines() if line.strip()), "")
        reason = f"{type(error).__name__}: {first[:200]}" if first else type(error).__name__
        raise InputError(f"{sentence} ({reason.rstrip('.')}).") from error
