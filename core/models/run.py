"""Run: an input made ready for a model, what the model gave, and the trace of its attention."""

from dataclasses import dataclass, field

from torch import Tensor

from core.attention.common.grid import Grid
from core.capture.trace import Trace
from core.models.geometry import Geometry
from core.types import Group, Prediction


@dataclass(frozen=True)
class Prepared:
    """An input made ready for one model: tensors, labels, and what had to be changed."""

    tensors: dict[str, Tensor]
    groups: tuple[Group, ...]
    notes: tuple[str, ...] = ()  # one sentence each: what was cut, resized, merged
    texts: tuple[str, ...] = ()  # text models: what the model read, one a batch item
    cut: tuple[str, ...] = ()  # text models: the end of each text that it did not read
    geometry: Geometry | None = None  # vision models
    grid: Grid | None = None  # vision models: how the positions lie in the picture


@dataclass(frozen=True)
class Output:
    """What the model gave."""

    hidden: Tensor  # (batch, position, dim): the last hidden states, or logits where there are none
    embedding: Tensor  # (batch, dim)
    predictions: tuple[tuple[Prediction, ...], ...] = ()  # per batch item: next tokens or labels
    # (batch, position, dim): what the decoder of an encoder-decoder gives, scores if it has a head
    decoded: Tensor | None = None


@dataclass(frozen=True)
class Run:
    """One forward pass, kept: enough to draw any map of it without running the model again."""

    model: str
    mechanism: str | None  # None: the model's own kernel
    trace: Trace
    prepared: Prepared
    output: Output
    versions: dict[str, str] = field(default_factory=dict)
