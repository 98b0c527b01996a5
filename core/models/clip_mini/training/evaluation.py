"""clip-mini's bars: recall of held-out names, mosaics, and photographs with many labels.

Nothing is chosen by these numbers; choices are made on the validation folds of
`core.models.clip_mini.training.splits`.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from open_clip.transform import image_transform_v2
from torch import Tensor

from core.errors import InputError
from core.models.clip_mini import ClipParts
from core.models.vision.images import open_picture

PHOTOGRAPHS = Path(__file__).with_name("photographs.json")
TEXT_BATCH = 128

Texts = Callable[[Sequence[str]], Float[Tensor, "text dim"]]  # rows of length 1


@dataclass(frozen=True)
class Score:
    """One measured share and the least that is wanted."""

    what: str
    reached: float
    bar: float
    unit: str

    @property
    def met(self) -> bool:
        """Is the bar reached?"""
        return self.reached >= self.bar

    def __str__(self) -> str:
        """What, how much, the bar and a verdict."""
        verdict = "met" if self.met else "NOT MET"
        return (
            f"{self.what:<58} {self.reached:>6.1f}   >= {self.bar:>4.0f} {self.unit:<6} {verdict}"
        )


HEADER = f"{'what':<58} {'reached':>7}   {'bar':>7}"


def ranks(
    images: Float[Tensor, "image dim"],
    texts: Float[Tensor, "text dim"],
    right: Int[Tensor, " image"],
) -> Int[Tensor, " image"]:
    """How many texts lie nearer to each picture than its own; 0 is first."""
    scores = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
    return (scores > scores.gather(1, right[:, None])).sum(dim=1)


def recall(found: Int[Tensor, " image"], within: int) -> float:
    """Per cent of the pictures whose own text is among the first so many."""
    return 100 * (found < within).float().mean().item()


def quadrant_found(
    patches: Float[Tensor, "batch row column dim"], texts: Float[Tensor, "batch quadrant dim"]
) -> float:
    """Per cent of named quadrants that are the strongest of their picture's heat map.

    A heat map is the cosine of each patch with the text; a patch that lies in two quadrants counts
    half for each. Quadrants are upper left, upper right, lower left, lower right.
    """
    cosine = torch.einsum(
        "brcd,bqd->bqrc", F.normalize(patches, dim=-1), F.normalize(texts, dim=-1)
    )
    # Twice as fine, so that a middle row or column can be shared.
    fine = cosine.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    strength = F.adaptive_avg_pool2d(fine, 2).flatten(2)
    named = torch.arange(4)
    return 100 * (strength.argmax(dim=-1) == named).float().mean().item()


@dataclass(frozen=True)
class Photographs:
    """Photographs that two packages ship, the labels, and which are right for each."""

    labels: tuple[str, ...]
    accept: dict[str, tuple[str, ...]]

    @classmethod
    def read(cls) -> "Photographs":
        """The list that comes with this repository."""
        stored = json.loads(PHOTOGRAPHS.read_text(encoding="utf-8"))
        return cls(
            tuple(stored["labels"]),
            {name: tuple(right) for name, right in stored["accept"].items()},
        )

    def paths(self) -> list[Path]:
        """The file of each photograph, in the order of `accept`.

        Raises:
            InputError: if a package that ships some of them is not installed.
        """
        folders = [_package("skimage") / "data", _package("sklearn") / "datasets" / "images"]
        return [
            next(path for folder in folders for path in sorted(folder.glob(f"{name}.*")))
            for name in self.accept
        ]

    def ranks(
        self, images: Float[Tensor, "image dim"], texts: Float[Tensor, "text dim"]
    ) -> Int[Tensor, " image"]:
        """The place of the best right label of each photograph; 0 is first."""
        scores = F.normalize(images, dim=-1) @ F.normalize(texts, dim=-1).T
        best = torch.stack(
            [
                torch.stack([row[self.labels.index(label)] for label in right]).max()
                for row, right in zip(scores, self.accept.values(), strict=True)
            ]
        )
        return (scores > best[:, None]).sum(dim=1)


def photograph_ranks(parts: ClipParts, photographs: Photographs) -> Int[Tensor, " image"]:
    """The place of the best right label of each photograph, from the pixels on."""
    transform = image_transform_v2(parts.preprocess, is_train=False)
    pictures = [open_picture(path, path.name).pixels for path in photographs.paths()]
    with torch.inference_mode():
        images = parts.module.encode_image(torch.stack([transform(one) for one in pictures]))
    return photographs.ranks(images, texts_of(parts)(photographs.labels))


def texts_of(parts: ClipParts) -> Texts:
    """The sentence embeddings of texts, by clip-mini's own text side."""

    def embed(texts: Sequence[str]) -> Float[Tensor, "text dim"]:
        rows = []
        with torch.inference_mode():
            for start in range(0, len(texts), TEXT_BATCH):
                ids = parts.tokenizer(list(texts[start : start + TEXT_BATCH]))
                longest = int((ids != parts.tokenizer.tokenizer.pad_token_id).sum(dim=1).max())
                rows.append(parts.module.encode_text(ids[:, :longest], normalize=True))
        return torch.cat(rows)

    return embed


def _package(name: str) -> Path:
    """The folder of a package, which is not imported: only its photographs are wanted."""
    found = find_spec(name)
    if found is None or found.origin is None:
        raise InputError(
            f"The package {name} was wanted for its sample photographs; it is not installed: "
            "'pip install -r requirements-dev.txt' brings it."
        )
    return Path(found.origin).parent
