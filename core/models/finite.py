"""Finite: a model that gives no numbers is refused, with the layer where that began.

Weights that were damaged on the disk, and a precision that is too small, otherwise end as a picture
of nothing.
"""

import math

import torch
from torch import Tensor

from core.capture.trace import Trace
from core.errors import InputError
from core.models.run import Output, Prepared
from core.types import Group


def require_finite(name: str, trace: Trace, prepared: Prepared, output: Output) -> None:
    """Refuse a run in which something is not finite where a text or picture is, padding aside.

    Costs one sum over q and k of each layer.

    Raises:
        InputError: naming the first such layer.
    """
    for group in prepared.groups:
        for layer, index in enumerate(group.calls):
            call = trace.calls[index]
            sides = {"queries": (call.query, group.queries, group.first_query)}
            sides["keys"] = (call.key, group.keys, group.first_key)
            if call.model_weights is not None:
                sides = {"weights": (call.model_weights, group.queries, group.first_query)}
            for what, (tensor, positions, first) in sides.items():
                if _is_finite(tensor):
                    continue
                rows = zip(positions, first or (0,) * len(positions), strict=True)
                own = [
                    tensor[item, :, start : start + len(each)]
                    for item, (each, start) in enumerate(rows)
                ]
                if len(tensor) != len(positions):  # windows of a picture, which are not padded
                    own = [tensor]
                if not all(map(_is_finite, own)):
                    raise InputError(_sentence(name, f"the {what} of {_place(group, layer)}"))
    if not _is_finite(output.embedding):
        raise InputError(_sentence(name, "the output of its last layer"))
    likely = (each.probability for item in output.predictions for each in item)
    if not all(map(math.isfinite, likely)):
        raise InputError(_sentence(name, "the probabilities, which its output head gives"))


def require_finite_scores(name: str, scale: float, bias: float | None) -> None:
    """Refuse what would make every probability of a CLIP model nothing.

    Raises:
        InputError: if the scale or the bias is not finite.
    """
    if not math.isfinite(scale) or not math.isfinite(bias or 0.0):
        raise InputError(_sentence(name, "the scale and bias of its scores"))


def require_finite_vectors(name: str, vectors: Tensor) -> None:
    """Refuse embeddings that are no numbers.

    Raises:
        InputError: if one is not finite.
    """
    if not _is_finite(vectors):
        raise InputError(_sentence(name, "the output of its last layer, the embedding"))


def _is_finite(tensor: Tensor) -> bool:
    return bool(tensor.sum(dtype=torch.float32).isfinite())


def _place(group: Group, layer: int) -> str:
    return f"layer {layer}" if group.name == "self-attention" else f"layer {layer} ({group.name})"


def _sentence(name: str, where: str) -> str:
    return (
        f"'{name}' gives no finite numbers in {where}. Its weights may be damaged "
        "(`python -m core weights --check` reads them again), or the precision is too small for it."
    )
