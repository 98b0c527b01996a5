"""Requests: what a visitor asks for, and what is called while it is made."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol


class Callbacks(NamedTuple):
    """Called while a result is made; either may raise to end it."""

    on_progress: Callable[[str, float], None]  # what is being done, and the share that is done
    on_wait: Callable[[int], None]  # how many are before us in the queue


SILENT = Callbacks(lambda what, share: None, lambda ahead: None)


class Request(Protocol):
    """What a visitor asks for: it can be compared, looked up, and names its model."""

    @property
    def model(self) -> str:
        """The model's name."""

    def __hash__(self) -> int:
        """Two who ask the same share one result."""


@dataclass(frozen=True)
class RunRequest:
    """One forward pass; two who ask the same share one run."""

    model: str
    input: tuple[str, ...] | str  # texts, or the key of a picture
    mechanism: str | None
    device: str
    precision: str

    @property
    def name(self) -> str:
        """A short name that the views of one run share in the browser."""
        return digest(self)

    @property
    def input_name(self) -> str:
        """A short name of the input alone, for what outlives a change of model or mechanism."""
        return digest(self.input)


def digest(value: object) -> str:
    """A short name of a value, the same in every process."""
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]
