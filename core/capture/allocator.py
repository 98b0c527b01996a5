"""Allocator: keep freed memory for the next pass, as handing it back costs its first touch again.

A recorded forward pass holds on to q and k, so every layer needs fresh memory; when the system has
to clear it page by page, that is most of what recording costs. Source: mallopt(3) of the GNU C
library, whose limits these are; elsewhere nothing is changed.
"""

import ctypes

TRIM_THRESHOLD, TOP_PAD, MMAP_THRESHOLD = -1, -2, -3  # the names that malloc.h gives these numbers
FREE_BYTES = 512 * 2**20  # at most so much stays free
GROWN_BYTES = 64 * 2**20
POOLED_BYTES = 32 * 2**20  # larger blocks go back at once: the library's own upper limit


def keep_freed_memory() -> bool:
    """Set the limits for this process; False where the C library is another one."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # musl, macOS, Windows
        return False
    limits = {TRIM_THRESHOLD: FREE_BYTES, TOP_PAD: GROWN_BYTES, MMAP_THRESHOLD: POOLED_BYTES}
    return all(mallopt(name, size) == 1 for name, size in limits.items())
