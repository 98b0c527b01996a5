"""What every model can do: make an input ready, run forward, and run once with its trace kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from core.attention import MECHANISMS
from core.capture import capture
from core.errors import InputError, OutOfMemoryError
from core.trace import AttentionCall, Trace
from core.types import Output, Prepared, Run

VERIFY_ROWS = 32  # of each call: enough to see a wrong kernel, cheap at any length
# What torch's allocators say where they raise a plain RuntimeError: CPU, CPU on Windows, MPS.
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
PACKAGES = ("torch", "transformers", "timm")


class Model(ABC):
    """A pretrained model whose attention can be seen."""

    name: str
    title: str
    kind: str  # 'text' or 'vision'
    module: nn.Module
    device: torch.device
    dtype: torch.dtype

    @abstractmethod
    def prepare(self, given: Any) -> Prepared:
        """Tensors and labels for texts (str or list) or pictures.

        Raises:
            InputError: if the visitor can put it right.
        """

    @abstractmethod
    def forward(self, prepared: Prepared) -> Output:
        """One plain forward pass; nothing of it is recorded."""

    def run(
        self,
        given: Any,
        mechanism: str | None = None,
        *,
        on_call: Callable[[float], None] | None = None,
    ) -> Run:
        """One forward pass with every attention call recorded and verified.

        Args:
            given: texts or pictures, as `prepare` takes them; or what it returned.
            mechanism: name in MECHANISMS; None leaves the model's own kernel alone.
            on_call: told the share of attention calls done, 0 to 1; may raise to stop.

        Raises:
            InputError: if the input, the mechanism or the memory does not allow it.
        """
        if mechanism is not None and mechanism not in MECHANISMS:
            raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{mechanism}' came.")
        prepared = given if isinstance(given, Prepared) else self.prepare(given)
        expected = sum(len(group.calls) for group in prepared.groups)

        def tell(count: int) -> None:
            if on_call is not None:
                on_call(min(1.0, count / max(1, expected)))

        with torch.inference_mode(), memory_explained(self.name):
            with capture(mechanism, verify_rows=VERIFY_ROWS, on_call=tell) as trace:
                output = self.forward(prepared)
            if not trace.calls:
                trace = self._given_maps(prepared, mechanism)
        if len(trace.calls) != expected:
            raise InputError(
                f"'{self.name}' was expected to attend {expected} times and did so "
                f"{len(trace.calls)} times, so its maps cannot be told apart by layer."
            )
        return Run(self.name, mechanism, trace, prepared, output, versions())

    def own_maps(self, prepared: Prepared) -> tuple[Tensor, ...]:
        """Maps that the library itself gives, a layer each, for a model that cannot be recorded."""
        return ()

    def _given_maps(self, prepared: Prepared, mechanism: str | None) -> Trace:
        """A trace of the library's own maps, where attention never reached the recorded call."""
        maps = () if mechanism else self.own_maps(prepared)
        if not maps:
            raise InputError(
                f"'{self.name}' computes attention by itself and never calls "
                "scaled_dot_product_attention, so it can be neither recorded nor routed."
            )
        empty = maps[0].new_zeros(*maps[0].shape[:3], 1)
        key = maps[0].new_zeros(*maps[0].shape[:2], maps[0].shape[3], 1)
        call = AttentionCall(empty, key, None, False, 1.0, None, "eager (library's own maps)")
        return Trace([replace(call, given=given) for given in maps])


@contextmanager
def memory_explained(name: str) -> Iterator[None]:
    """Turn an allocation that failed into a sentence.

    Raises:
        OutOfMemoryError: in place of what the allocator raised.
    """
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        memory = isinstance(error, (torch.OutOfMemoryError, MemoryError))
        if not memory and not any(words in str(error) for words in OUT_OF_MEMORY):
            raise
        raise OutOfMemoryError(
            f"There is not enough memory to run '{name}' on this input: "
            "try a shorter text, a smaller picture or another device."
        ) from error


def versions() -> dict[str, str]:
    """The versions of the packages that make the numbers."""
    return {package: version(package) for package in PACKAGES}
