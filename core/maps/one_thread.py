"""One thread: a product of milliseconds waits longer for a second one than it saves.

torch's threads are woken for a product of any size. Where a browser beside it holds the cores, a
map of 16 x 16 waits 13 ms for one that is not free; alone it takes 0.1 ms.
"""

from contextlib import AbstractContextManager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


def one_thread() -> AbstractContextManager:
    """Inside of it this thread's products use no other; those of other threads do as before."""
    return _controller().limit(limits=1, user_api="openmp")


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """Finding the loaded libraries takes milliseconds, and torch is loaded by then."""
    return ThreadpoolController()
