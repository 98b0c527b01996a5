"""What every model can do: make an input ready, run forward, and run once with its trace kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Any

import torch
from torch import Tensor, nn

from core.attention import MECHANISMS
from core.capture import capture
from core.capture.trace import AttentionCall, Trace
from core.errors import InputError, OutOfMemoryError
from core.models.finite import require_finite
from core.models.run import Output, Prepared, Run
from core.types import Group, Position

VERIFY_ROWS = 32  # of each call: enough to see a wrong kernel, cheap at any length
# What torch's allocators say where they raise a plain RuntimeError: CPU, CPU on Windows, MPS.
OUT_OF_MEMORY = ("can't allocate memory", "not enough memory", "out of memory")
PACKAGES = ("torch", "transformers", "timm", "open_clip_torch")
# Read once, here: a lookup goes through sys.path, which Streamlit changes while threads run.
VERSIONS = {package: version(package) for package in PACKAGES}


class Model(ABC):
    """A pretrained model whose attention can be seen."""

    name: str
    title: str
    kind: str  # 'text' or 'vision'
    module: nn.Module
    device: torch.device
    dtype: torch.dtype

    @abstractmethod
    def prepare(self, inputs: Any) -> Prepared:
        """Tensors and labels for texts (str or list) or pictures.

        Raises:
            InputError: if the visitor can put it right.
        """

    @abstractmethod
    def forward(self, prepared: Prepared) -> Output:
        """One plain forward pass; nothing of it is recorded."""

    def run(
        self,
        inputs: Any,
        mechanism: str | None = None,
        *,
        on_call: Callable[[float], None] | None = None,
    ) -> Run:
        """One forward pass with every attention call recorded and verified.

        Args:
            inputs: texts or pictures, as `prepare` takes them; or what it returned.
            mechanism: name in MECHANISMS; None leaves the model's own kernel alone.
            on_call: told the share of attention calls done, 0 to 1; may raise to stop.

        Raises:
            InputError: if the input, the mechanism or the memory does not allow it.
        """
        if mechanism is not None and mechanism not in MECHANISMS:
            raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{mechanism}' came.")
        prepared = inputs if isinstance(inputs, Prepared) else self.prepare(inputs)
        expected = sum(len(group.calls) for group in prepared.groups)

        def tell(count: int) -> None:
            if on_call is not None:
                on_call(min(1.0, count / max(1, expected)))

        with torch.inference_mode(), memory_explained(self.name):
            how = {"grid": prepared.grid, "verify_rows": VERIFY_ROWS, "on_call": tell}
            with capture(mechanism, **how) as trace:
                output = self.forward(prepared)
            if not trace.calls:
                trace = self._given_maps(prepared, mechanism)
        if len(trace.calls) != expected:
            raise InputError(
                f"'{self.name}' was expected to attend {expected} times and did so "
                f"{len(trace.calls)} times, so its maps cannot be told apart by layer."
            )
        require_finite(self.name, trace, prepared, output)
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
        if len(maps) != sum(len(group.calls) for group in prepared.groups):
            return Trace([_given_call(given) for given in maps])
        group_of = {index: group for group in prepared.groups for index in group.calls}
        for index, given in enumerate(maps):
            _check_given(given, group_of[index], self.name)
        return Trace([_given_call(given, group_of[index]) for index, given in enumerate(maps)])


def _given_call(given: Tensor, group: Group | None = None) -> AttentionCall:
    """A call that holds a map of the library's; its q and k are zeros and say the shape only."""
    query = given.new_zeros(*given.shape[:3], 1)
    key = given.new_zeros(*given.shape[:2], given.shape[3], 1)
    causal = group is not None and _looks_back(given, group)
    return AttentionCall(
        query, key, None, causal, 1.0, None, "eager (library's own maps)", model_weights=given
    )


def _check_given(given: Tensor, group: Group, name: str) -> None:
    """Refuse a map whose columns are not the group's keys, such as those inside a window."""
    keys = _length(group.keys, group.first_key)
    if given.ndim != 4 or given.shape[-1] != keys:
        raise InputError(
            f"A map with a column for each of {keys} keys was wanted; '{name}' gives maps of "
            f"{given.shape[-1]} columns, as models do that attend inside windows."
        )


def _looks_back(given: Tensor, group: Group) -> bool:
    """Is no query of a sequence that looks at itself given a weight on what comes after it?"""
    if group.queries != group.keys or group.first_query != group.first_key:
        return False
    own = [
        weights[:, first : first + len(positions), first : first + len(positions)]
        for weights, positions, first in zip(
            given, group.queries, group.first_query or (0,) * len(group.queries), strict=True
        )
    ]
    return all(not weights.triu(1).any() for weights in own)


def _length(positions: tuple[tuple[Position, ...], ...], first: tuple[int, ...]) -> int:
    """How long the padded sequences are."""
    first = first or (0,) * len(positions)
    return max(start + len(own) for start, own in zip(first, positions, strict=True))


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
    return dict(VERSIONS)
