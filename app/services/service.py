"""Service: results by request, from a bounded store or made; every cache of the app is one."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.services.requests import SILENT, Callbacks
from app.services.store import Store

RequestT = TypeVar("RequestT", bound=Hashable)
SourceT = TypeVar("SourceT")
ResultT = TypeVar("ResultT")


@dataclass(frozen=True)
class Service(Generic[RequestT, SourceT, ResultT]):
    """Results of all visitors.

    Beside its request, a result may be made of a source that is too large to be a key: pixels, or
    another result.
    """

    store: Store
    maker: Callable[[RequestT, SourceT, Callbacks], ResultT]

    def find(self, request: RequestT) -> ResultT | None:
        """The result, if it is in the store."""
        return self.store.get(request)

    def get(self, request: RequestT, source: SourceT, callbacks: Callbacks = SILENT) -> ResultT:
        """The result: found, or made and stored.

        Raises:
            InputError: if it cannot be made.
        """
        found = self.find(request)
        return self.make(request, source, callbacks) if found is None else found

    def make(self, request: RequestT, source: SourceT, callbacks: Callbacks = SILENT) -> ResultT:
        """The result, made anew and stored.

        Raises:
            InputError: if it cannot be made.
        """
        result = self.maker(request, source, callbacks)
        self.store.put(request, result)
        return result
