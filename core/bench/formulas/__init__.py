"""Formulas: how much each mechanism has to compute, to move and to hold, from the sizes alone.

Operations are those of the matrix products (a multiplication and an addition are two). Profilers
count none for the CPU's flash kernel, so they are written down here; peaks are those of PyTorch's
CPU kernels and of our blocks, and are checked against the profiler's.
"""

from core.bench.formulas import linear, softmax, sparse
from core.bench.formulas.sizes import Formula

FORMULAS: dict[str, Formula] = {
    "standard": softmax.STANDARD,
    "flash": softmax.FLASH,
    "flex": softmax.FLEX,
    "cudnn": softmax.FLASH,
    "flash_attn": softmax.FLASH,
    "chunked": softmax.CHUNKED,
    "window": sparse.WINDOW,
    "longformer": sparse.LONGFORMER,
    "block_sparse": sparse.BLOCK_SPARSE,
    "swin": sparse.SWIN,
    "swin_shifted": sparse.SWIN_SHIFTED,
    "topk": softmax.TOPK,
    "linear": linear.LINEAR,
    "favor": linear.FAVOR,
}


def formula(mechanism: str) -> Formula | None:
    """The formulas of a mechanism; None where nobody wrote them down."""
    return FORMULAS.get(mechanism)
