"""Labelled maps: a map with a label for every row and column, and where it comes from."""

from dataclasses import asdict, dataclass, field

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Provenance:
    """Where a map comes from; travels with every download."""

    model: str
    mechanism: str  # a name in MECHANISMS, or that it is the model's own
    kernel: str
    layer: int
    head: int
    input: str  # the sentence or the file's name
    note: str = ""  # what was done to the map: pooled, special tokens hidden, word view
    device: str = ""
    precision: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def line(self) -> str:
        """One line for the foot of a picture."""
        parts = [self.model, f"layer {self.layer}, head {self.head}", self.kernel, self.note]
        return " · ".join(part for part in parts if part)

    def lines(self) -> list[str]:
        """All of it, one line each, as typed but for line ends."""
        known = {name: value for name, value in asdict(self).items() if value not in ("", {})}
        known["versions"] = ", ".join(f"{name} {tag}" for name, tag in self.versions.items())
        return [f"{name}: {' '.join(str(value).split())}" for name, value in known.items()]


@dataclass(frozen=True)
class LabelledMap:
    """A map with a label for every row and column."""

    weights: Float[np.ndarray, "q k"]
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    about: Provenance
