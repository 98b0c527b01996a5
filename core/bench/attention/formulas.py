"""Formulas: how much each mechanism has to compute, to move and to hold, from the sizes alone.

Operations are those of the matrix products (a multiplication and an addition are two). Profilers
count none for the CPU's flash kernel, so they are written down here; peaks are those of PyTorch's
CPU kernels and of our blocks, and are checked against the profiler's.
"""

from core.bench.attention import formulas_linear, formulas_softmax, formulas_sparse
from core.bench.attention.sizes import Formula

FORMULAS: dict[str, Formula] = {
    "standard": formulas_softmax.STANDARD,
    "flash": formulas_softmax.FLASH,
    "flex": formulas_softmax.FLEX,
    "cudnn": formulas_softmax.FLASH,
    "flash_attn": formulas_softmax.FLASH,
    "chunked": formulas_softmax.CHUNKED,
    "window": formulas_sparse.WINDOW,
    "longformer": formulas_sparse.LONGFORMER,
    "block_sparse": formulas_sparse.BLOCK_SPARSE,
    "swin": formulas_sparse.SWIN,
    "swin_shifted": formulas_sparse.SWIN_SHIFTED,
    "topk": formulas_softmax.TOPK,
    "linear": formulas_linear.LINEAR,
    "favor": formulas_linear.FAVOR,
}


def formula(arm: str) -> Formula | None:
    """The formulas of a mechanism; None where nobody wrote them down."""
    return FORMULAS.get(arm)
