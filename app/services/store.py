"""Store: the latest results of all visitors, up to so many bytes."""

import threading
from collections.abc import Callable, Hashable

from cachetools import LRUCache


class Store:
    """The latest results, by key, up to so many bytes; safe for several threads."""

    def __init__(self, limit: int, size: Callable[[object], int]) -> None:
        """Hold up to `limit` bytes, as `size` counts them."""
        self._cache: LRUCache = LRUCache(limit, getsizeof=size)
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> object | None:
        """The result of a key; None if there is none."""
        with self._lock:
            return self._cache.get(key)

    def drop(self, key: Hashable) -> None:
        """Remove a key, if it is there."""
        with self._lock:
            self._cache.pop(key, None)

    def put(self, key: Hashable, value: object) -> None:
        """Store a value; the oldest make room. One that is larger than the store is left out."""
        with self._lock:
            self._cache.pop(key, None)
            if self._cache.getsizeof(value) <= self._cache.maxsize:
                self._cache[key] = value
