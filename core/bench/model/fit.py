"""Fit: what one attention call of a model would hold by a mechanism, told before it runs.

Where memory runs out, the system ends the process before torch can say a word.
"""

from contextlib import suppress

import torch

from core.attention import MECHANISMS
from core.bench.formulas import formula
from core.bench.formulas.sizes import Sizes
from core.bench.sweep.estimate import USABLE, free_bytes, in_bytes
from core.capture import capture
from core.errors import OutOfMemoryError
from core.models.model import Model, memory_explained
from core.models.run import Prepared


class _SeenError(Exception):
    """The first call is known: the model need not go on."""


def sizes_of(model: Model, prepared: Prepared) -> Sizes | None:
    """The first attention call of a model, mostly its largest; None if no call is seen."""

    def stop(count: int) -> None:
        raise _SeenError

    with (
        torch.inference_mode(),
        memory_explained(model.name),
        capture(grid=prepared.grid, on_call=stop) as trace,
        suppress(_SeenError),
    ):
        model.forward(prepared)
    if not trace.calls:
        return None
    call = trace.calls[0]
    batch, heads, queries, dim = call.query.shape
    return Sizes(
        batch=batch, heads=heads, length=max(queries, call.key.shape[2]), dim=dim,
        number=call.query.element_size(), causal=call.is_causal, threads=torch.get_num_threads(),
        on_cpu=model.device.type == "cpu",
    )  # fmt: skip


def require_fit(sizes: Sizes | None, mechanism: str, device: torch.device) -> None:
    """Refuse a mechanism whose call would not fit into the memory that is free.

    Raises:
        OutOfMemoryError: with what it would take, and what there is.
    """
    costs = formula(mechanism)
    if sizes is None or costs is None or costs.peak is None:
        return
    peak, free = costs.peak(sizes), free_bytes(device)
    if peak > USABLE * free:
        raise OutOfMemoryError(
            f"{MECHANISMS[mechanism].title} would take about {in_bytes(peak)} of memory for one "
            f"attention call; {in_bytes(free)} are free: try a shorter text or a smaller picture."
        )
