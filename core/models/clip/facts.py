"""What an open_clip model says of itself: its preprocessing, its limits, its logit scale.

Source: https://github.com/mlfoundations/open_clip; the scale is that of Radford et al. 2021,
https://arxiv.org/abs/2103.00020, the bias that of Zhai et al. 2023, https://arxiv.org/abs/2303.15343
"""

from typing import Literal, NamedTuple

from open_clip.transform import PreprocessCfg
from torch import Tensor, nn


class Reader(NamedTuple):
    """How the last hidden states become the embedding.

    'token': the state at the position `index` is taken. 'mean': all patches, or all tokens that are
    no padding, are averaged. 'query': the last recorded call is an attention pool, and its query
    `index` gathers the patches.
    """

    kind: Literal["token", "mean", "query"]
    index: int = 0


class ClipFacts(NamedTuple):
    """What is shown about a model beside its scores."""

    size: tuple[int, int]  # height and width of the picture that the model sees
    mean: tuple[float, ...]  # of red, green and blue, taken off the picture
    std: tuple[float, ...]
    resize: str  # in words
    interpolation: str
    context: int  # tokens of a text, those of start and end included
    width: int  # numbers in an embedding
    scale: float  # exp(logit_scale): what a cosine is multiplied by
    bias: float | None  # what is added then
    sigmoid: bool  # each label for itself; softmax over the labels otherwise


RESIZING = {
    "shortest": "shorter side to size, centre cropped",
    "longest": "longer side to size, the rest filled",
    "squash": "squashed to size, aspect not kept",
}


def facts(module: nn.Module, preprocess: PreprocessCfg, context: int, width: int) -> ClipFacts:
    """The facts of a model; take them before its numbers are made shorter."""
    size = size_of(preprocess)
    bias = number(module.logit_bias)
    return ClipFacts(
        size=size,
        mean=tuple(preprocess.mean),
        std=tuple(preprocess.std),
        resize=RESIZING[preprocess.resize_mode],
        interpolation=interpolation_of(preprocess),
        context=context,
        width=width,
        scale=number(module.logit_scale.exp()),
        bias=bias,
        sigmoid=bias is not None,
    )


def size_of(preprocess: PreprocessCfg) -> tuple[int, int]:
    """Height and width; the library also writes one number for a square."""
    size = preprocess.size
    return (size, size) if isinstance(size, int) else tuple(size)


def interpolation_of(preprocess: PreprocessCfg) -> str:
    """What the library really takes: its crop that is not square is always bicubic."""
    height, width = size_of(preprocess)
    own = preprocess.interpolation == "bilinear"
    if preprocess.resize_mode == "shortest" and height != width:
        own = False
    return "bilinear" if own else "bicubic"


def number(parameter: Tensor | None) -> float | None:
    """A parameter of one number as a float."""
    return None if parameter is None else float(parameter.detach().float().reshape(()))
