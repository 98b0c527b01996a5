"""nn.MultiheadAttention's own function, run so that a capture sees the attention inside of it."""

from inspect import signature
from types import FunctionType
from typing import Any

import torch.nn.functional as F  # noqa: N812

# The public function asks `has_torch_function` first and would come back to the mode for ever;
# the same code with a `has_torch_function` that says no runs its body.
_BODY = FunctionType(
    F.multi_head_attention_forward.__code__,
    {**F.multi_head_attention_forward.__globals__, "has_torch_function": lambda tensors: False},
    argdefs=F.multi_head_attention_forward.__defaults__,
)
_SIGNATURE = signature(F.multi_head_attention_forward)


class MultiHeadCall:
    """One call of `F.multi_head_attention_forward`, taken the fast way.

    Its `need_weights` path multiplies matrices by hand; the weights that the caller wants are
    rebuilt from what was recorded.
    """

    def __init__(self, args: tuple, kwargs: dict[str, Any]) -> None:
        """Bind the arguments that the caller gave."""
        self.bound = _SIGNATURE.bind(*args, **kwargs)
        self.bound.apply_defaults()
        self.wants_weights: bool = self.bound.arguments["need_weights"]
        self.wants_average: bool = self.bound.arguments["average_attn_weights"]
        self.bound.arguments["need_weights"] = False

    def run(self) -> Any:
        """The output, by the body of the function: a mode must still be on to see its attention."""
        return _BODY(*self.bound.args, **self.bound.kwargs)[0]
