"""What lite0 makes of every view, computed once and kept, so that training takes minutes.

Source: kept are the 320 channels before lite0's last convolution, a quarter of the 1,280 after it;
`unfinished` does the rest.
"""

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float16
from PIL import Image
from torch import Tensor, nn

from core.models.clip_mini import PREPROCESS
from core.models.clip_mini.training.compose import changed_view, mosaic, opened, plain_view
from core.models.clip_mini.training.data import Progress

SHARD = 256  # views in a file: what is lost when it is stopped
BATCH = 32

Maps = Float16[np.ndarray, "view *place channel"]
Make = Callable[[int], Image.Image]


@dataclass(frozen=True)
class Views:
    """Views of one kind: how many, how each is made, and what makes them what they are."""

    name: str
    count: int
    make: Make
    key: str  # the views change with it, so what was kept under another is not taken


def plain_views(paths: Sequence[Path]) -> Views:
    """Each picture whole, on white."""
    return Views("plain", len(paths), lambda index: plain_view(opened(paths[index])), _key(paths))


def changed_views(paths: Sequence[Path], turn: int) -> Views:
    """Each picture changed at random; each turn makes others, the same on every machine."""
    name = f"changed-{turn}"

    def make(index: int) -> Image.Image:
        return changed_view(opened(paths[index]), random.Random(f"{name}-{index}"))

    return Views(name, len(paths), make, _key(paths))


def mosaics(
    paths: Sequence[Path], groups: Sequence[Sequence[int]], name: str, *, plain: bool
) -> Views:
    """Four pictures in each; plain: on white, for measuring, else changed at random."""

    def make(index: int) -> Image.Image:
        chance = None if plain else random.Random(f"{name}-{index}")
        return mosaic([opened(paths[picture]) for picture in groups[index]], chance)

    chosen = [paths[picture] for group in groups for picture in group]
    return Views(name, len(groups), make, _key(chosen))


def computed(views: Views, lite0: nn.Module, folder: Path, on_progress: Progress) -> Maps:
    """The maps of all views: from the folder where they are there, computed where they are not.

    Kept in files of a few hundred; one that was stopped goes on where it was.
    """
    cached = folder / f"{views.name}-{views.key}"
    cached.mkdir(parents=True, exist_ok=True)
    shards = []
    for start in range(0, views.count, SHARD):
        path = cached / f"{start:06d}.npy"
        if not path.is_file():
            stop = min(start + SHARD, views.count)
            partial = path.with_suffix(".partial")
            with partial.open("wb") as file:
                np.save(file, _maps([views.make(index) for index in range(start, stop)], lite0))
            partial.replace(path)
        shards.append(np.load(path))
        on_progress(f"features, {views.name}", min(1.0, (start + SHARD) / views.count))
    return np.concatenate(shards)


def unfinished(
    maps: Float16[np.ndarray, "batch position channel"], lite0: nn.Module
) -> Float[Tensor, "batch position features"]:
    """What lite0's last convolution and norm make of each place for itself.

    `clamp(0, 6)`, its activation, makes lite0's features of it.
    """
    batch, places, channels = maps.shape
    alone = torch.from_numpy(maps).reshape(-1, channels, 1, 1).to(lite0.conv_head.weight.dtype)
    norm = lite0.bn2
    with torch.no_grad():
        normed = F.batch_norm(
            lite0.conv_head(alone),
            norm.running_mean,
            norm.running_var,
            norm.weight,
            norm.bias,
            eps=norm.eps,
        )
    return normed.reshape(batch, places, -1)


def pixels(images: Sequence[Image.Image]) -> Float[Tensor, "batch 3 height width"]:
    """Views as clip-mini's preprocessing would give them; they have its size already."""
    arrays = np.stack([np.asarray(image, dtype=np.float32) for image in images]) / 255
    mean, std = np.float32(PREPROCESS.mean), np.float32(PREPROCESS.std)
    return torch.from_numpy((arrays - mean) / std).permute(0, 3, 1, 2)


def _maps(images: Sequence[Image.Image], lite0: nn.Module) -> Maps:
    rows = []
    with torch.inference_mode():
        for start in range(0, len(images), BATCH):
            # Convolutions are twice as fast with the channels last.
            batch = pixels(images[start : start + BATCH]).to(memory_format=torch.channels_last)
            stem = lite0.bn1(lite0.conv_stem(batch))
            rows.append(lite0.blocks(stem).permute(0, 2, 3, 1).half().numpy())
    return np.concatenate(rows)


def _key(paths: Sequence[Path]) -> str:
    """Sixteen letters that change with the pictures and their order."""
    names = "\n".join(f"{path.parent.name}/{path.name}" for path in paths)
    return hashlib.sha256(names.encode()).hexdigest()[:16]
