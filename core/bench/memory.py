"""Memory: the most bytes that a piece of work holds at one time, beyond what was there before.

On the CPU the running sum of the profiler's `[memory]` events, exact and repeatable; tracemalloc
sees none of it. On CUDA the allocator's own peak. MPS has no peak, so None.
"""

from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile


def peak_bytes(work: Callable[[], object], device: torch.device | str = "cpu") -> int | None:
    """Peak of what `work` allocates, in bytes; None where the device has no peak to read.

    Slows the work down: never time it in the same pass.
    """
    device = torch.device(device)
    if device.type == "cuda":
        torch.cuda.synchronize(device)
        before = torch.cuda.memory_allocated(device)
        torch.cuda.reset_peak_memory_stats(device)
        work()
        torch.cuda.synchronize(device)
        return torch.cuda.max_memory_allocated(device) - before
    if device.type != "cpu":
        return None
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as record:
        kept = work()
    del kept
    return _highest_sum(record)


def _highest_sum(record: profile) -> int:
    """The highest running sum of allocations and frees, in the order in which they happened.

    Read from Kineto's raw events: `record.events()` leaves out those inside an operator.
    """
    events = [e for e in record.profiler.kineto_results.events() if e.name() == "[memory]"]
    held = highest = 0
    for event in sorted(events, key=lambda event: event.start_ns()):
        held += event.nbytes()
        highest = max(highest, held)
    return highest
