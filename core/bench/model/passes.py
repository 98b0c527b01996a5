"""Passes: one model on one input, again and again, each time with other layers routed elsewhere."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from core.capture import capture
from core.errors import InputError
from core.models.model import Model, memory_explained
from core.models.run import Output, Prepared

OnStep = Callable[[float], None]  # told the share that is done; may raise to stop


@dataclass(frozen=True)
class Passes:
    """A model and what it reads."""

    model: Model
    prepared: Prepared

    @property
    def calls(self) -> int:
        """Attention calls of one forward pass."""
        return sum(len(group.calls) for group in self.prepared.groups)

    def forward(
        self,
        mechanism: str | None,
        layers: Collection[int] | None,
        on_call: Callable[[int], None],
    ) -> Output:
        """One pass with these layers routed through a mechanism; None and None change nothing.

        The model's own attention is watched too, so that the watching costs all passes alike.

        Args:
            mechanism: name in MECHANISMS, or None for the model's own attention.
            layers: calls that are routed, counted from 0; None routes all.
            on_call: told the number of calls so far after each one; may raise to stop.

        Raises:
            MechanismError: if the mechanism cannot take what the model gives it.
            OutOfMemoryError: if it does not fit.
        """
        how = {"layers": layers, "grid": self.prepared.grid, "record": False, "on_call": on_call}
        with (
            torch.inference_mode(),
            memory_explained(self.model.name),
            capture(mechanism, **how),
        ):
            return self.model.forward(self.prepared)

    def own(self, on_call: Callable[[int], None]) -> Output:
        """One pass as the model is, with its attention calls counted.

        Raises:
            InputError: if its attention cannot be routed, or not be told apart by layer.
        """
        seen = 0

        def count(calls: int) -> None:
            nonlocal seen
            seen = calls
            on_call(calls)

        output = self.forward(None, None, count)
        name = self.model.name
        if seen == 0:
            raise InputError(
                f"'{name}' computes attention by itself and never calls "
                "scaled_dot_product_attention, so no other mechanism can take its place."
            )
        if seen != self.calls:
            raise InputError(
                f"'{name}' was expected to attend {self.calls} times and did so {seen} times, so "
                "its layers cannot be told apart."
            )
        return output


class Steps:
    """How much of several passes is done, told after every attention call."""

    def __init__(self, passes: int, calls: int, on_step: OnStep | None) -> None:
        """Nothing is done yet."""
        self.passes, self.calls, self.on_step = passes, calls, on_step
        self.done = 0

    def tell(self, count: int) -> None:
        """So many attention calls of the present pass are done."""
        if self.on_step is not None:
            share = self.done + min(1.0, count / max(1, self.calls))
            self.on_step(min(1.0, share / max(1, self.passes)))

    def finish(self) -> None:
        """The present pass is done."""
        self.done += 1
        self.tell(0)

    def end(self) -> None:
        """No other pass will come."""
        self.passes = self.done
        self.tell(0)
