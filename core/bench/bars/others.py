"""Others: what other packages offer for the same job, compared where they are installed.

They are no part of what the project needs to run: `requirements-bench.txt` names them, and
`make bench` installs them for the comparison.
"""

import importlib
import importlib.util
import warnings
from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor

from core.attention.common.random_features import num_features

Call = Callable[[Tensor, Tensor, Tensor], Tensor]
DIM = 64


@dataclass(frozen=True)
class Other:
    """A package's attention beside one of ours."""

    ours: str
    package: str  # as pip knows it
    module: str
    bar: float  # the most that our time may be of theirs
    make: Callable[..., Call]  # from the module

    def work(self) -> Call:
        """The call, on q, k and v of `DIM` dimensions.

        Raises:
            ImportError: if the package is not installed.
        """
        with warnings.catch_warnings():  # theirs, at import
            warnings.simplefilter("ignore")
            return self.make(importlib.import_module(self.module))


OTHERS = (
    Other(
        "linear", "linear-attention-transformer",
        "linear_attention_transformer.linear_attention_transformer", 1.2,
        lambda module: module.linear_attn,
    ),
    Other(
        "favor", "performer-pytorch", "performer_pytorch.performer_pytorch", 0.5,
        lambda module: module.FastAttention(DIM, nb_features=num_features(DIM), causal=False),
    ),
)  # fmt: skip


def missing(other: Other) -> bool:
    """Is the package not installed?"""
    return importlib.util.find_spec(other.module.partition(".")[0]) is None
