"""Garbage collection, left for later while libraries are imported."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def garbage_left() -> Iterator[None]:
    """Collect no garbage inside.

    Importing torch and transformers makes a million objects that all stay: Python would look
    through them dozens of times, for a second in all.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
