"""Loading a model of transformers without its bars and remarks on the console.

Source: https://huggingface.co/docs/transformers/main_classes/logging
"""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock

from huggingface_hub.utils import are_progress_bars_disabled, enable_progress_bars
from transformers.utils import logging

_loading = RLock()  # all threads share what is changed here, so one loads at a time


@contextmanager
def quiet() -> Iterator[None]:
    """Silence the library inside the block, and leave it as it was."""
    with _loading:
        verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
        hub_bars = not are_progress_bars_disabled()
        logging.set_verbosity(logging.CRITICAL)
        logging.disable_progress_bar()  # the hub's bars too
        try:
            yield
        finally:
            logging.set_verbosity(verbosity)
            if bars:
                logging.enable_progress_bar()
            elif hub_bars:
                enable_progress_bars()
