"""clip-mini against its bars: held-out names, mosaics and photographs, from the pixels on."""

from collections.abc import Callable, Sequence

import torch
from jaxtyping import Float
from PIL import Image
from torch import Tensor

from core.models.clip_mini import ClipParts
from core.models.clip_mini.training.catalogue import Item
from core.models.clip_mini.training.compose import mosaic, opened, plain_view
from core.models.clip_mini.training.evaluation import (
    Photographs,
    Score,
    photograph_ranks,
    quadrant_found,
    ranks,
    recall,
    texts_of,
)
from core.models.clip_mini.training.features import pixels
from core.models.clip_mini.training.preparing import QUADRANTS, grouped
from core.models.clip_mini.training.splits import Split

MOSAICS = 300
BATCH = 32
RECALLS = ((1, 12.0), (5, 30.0), (10, 42.0))  # among the first so many, and the bar in per cent
QUADRANT_BAR = 70.0
PHOTOGRAPH_BARS = ((1, 8.0), (5, 12.0))

Encode = Callable[[Float[Tensor, "batch 3 height width"]], Tensor]


def scores(
    parts: ClipParts, items: Sequence[Item], split: Split, *, photographs: bool
) -> list[Score]:
    """Every bar with what is reached."""
    held_out = [*recall_scores(parts, items, split), mosaic_score(parts, items, split)]
    return held_out + (photograph_scores(parts) if photographs else [])


def recall_scores(parts: ClipParts, items: Sequence[Item], split: Split) -> list[Score]:
    """Held-out pictures of both emoji sets, each among all held-out names."""
    measured = [items[index] for index in split.measured]
    names = sorted({item.name for item in measured})
    images = _encoded([item.path for item in measured], parts.module.encode_image)
    right = torch.tensor([names.index(item.name) for item in measured])
    found = ranks(images, texts_of(parts)(names), right)
    return [
        Score(f"{len(names)} held-out names, recall at {within}", recall(found, within), bar, "%")
        for within, bar in RECALLS
    ]


def mosaic_score(parts: ClipParts, items: Sequence[Item], split: Split) -> Score:
    """Four held-out pictures in one: is the strongest quadrant the named one?"""
    measured = [items[index] for index in split.measured]
    groups = grouped([item.heads[0] for item in measured], MOSAICS, seed=1)
    views = [mosaic([opened(measured[place].path) for place in group]) for group in groups]
    patches = _batched(views, parts.module.visual.trunk.patch_embeddings)
    names = [measured[place].name for group in groups for place in group]
    texts = texts_of(parts)(names).unflatten(0, (-1, QUADRANTS))
    return Score(
        f"{MOSAICS} mosaics of four, strongest quadrant is the named",
        quadrant_found(patches, texts),
        QUADRANT_BAR,
        "%",
    )


def photograph_scores(parts: ClipParts) -> list[Score]:
    """Photographs, each among all labels."""
    photographs = Photographs.read()
    found = photograph_ranks(parts, photographs)
    return [
        Score(
            f"{len(found)} photographs, {len(photographs.labels)} labels, right in first {within}",
            float((found < within).sum()),
            bar,
            "photos",
        )
        for within, bar in PHOTOGRAPH_BARS
    ]


def _encoded(paths: Sequence, encode: Encode) -> Tensor:
    return _batched([plain_view(opened(path)) for path in paths], encode)


def _batched(views: Sequence[Image.Image], encode: Encode) -> Tensor:
    rows = []
    with torch.inference_mode():
        for start in range(0, len(views), BATCH):
            rows.append(encode(pixels(views[start : start + BATCH])))
    return torch.cat(rows)
