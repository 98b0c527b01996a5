"""A stand-in for lite0, and lessons made of noise around a few directions: sizes are primes."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from core.models.clip_mini.conse import Conse
from core.models.clip_mini.head import Head, HeadConfig
from core.models.clip_mini.training.features import unfinished
from core.models.clip_mini.training.imagined import Imagination
from core.models.clip_mini.training.lessons import PLACES, Lessons, Said
from core.models.clip_mini.training.training import Student

CHANNELS, FEATURES, CLASSES, DIM, CONCEPTS = 11, 26, 13, 17, 5
CONFIG = HeadConfig(features=FEATURES, width=14, heads=2, dim=DIM)


class TinyLite0(nn.Module):
    """The parts of lite0 that training touches."""

    def __init__(self) -> None:
        """Start with fixed random weights."""
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(3)
            self.conv_stem = nn.Conv2d(3, CHANNELS, 32, stride=32)
            self.bn1, self.blocks = nn.Identity(), nn.Identity()
            self.conv_head = nn.Conv2d(CHANNELS, FEATURES, 1, bias=False)
            self.bn2 = nn.BatchNorm2d(FEATURES)
            self.classifier = nn.Linear(FEATURES, CLASSES)
        self.eval().requires_grad_(False)


def student(seed: int = 0) -> Student:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Student(Head(CONFIG))


def lessons(pictures: int = 31) -> Lessons:
    chance = np.random.default_rng(7)
    concept = np.arange(pictures) % CONCEPTS
    things = chance.normal(size=(CONCEPTS, CHANNELS)) * 3

    def maps(of: np.ndarray) -> np.ndarray:
        noise = chance.normal(size=(len(of), PLACES, CHANNELS))
        return (things[of][:, None] + noise).reshape(-1, 7, 7, CHANNELS).astype(np.float16)

    lite0 = TinyLite0()
    texts = F.normalize(torch.randn(CONCEPTS, DIM, generator=torch.Generator().manual_seed(2)))
    conse = Conse(CLASSES, DIM)
    conse.names.copy_(F.normalize(torch.randn(CLASSES, DIM, generator=torch.Generator())))
    quadrants = [[first, first + 1, first + 2, first + 3] for first in range(pictures - 3)]
    parts = [np.concatenate([maps(concept[[picture]]) for picture in group]) for group in quadrants]
    mosaics = np.stack([laid_out(part) for part in parts])
    views = [maps(concept), maps(concept)]
    drawn = unfinished(views[0].reshape(pictures, PLACES, CHANNELS), lite0)
    return Lessons(
        lite0=lite0,
        views=views,
        mosaics=mosaics,
        quadrants=quadrants,
        pictures=range(pictures),
        said={index: Said((of,), (), of) for index, of in enumerate(concept.tolist())},
        texts=texts,
        names=texts,
        imagination=Imagination(lite0, drawn),
        conse=conse,
        share=0.5,
    )


def laid_out(parts: np.ndarray) -> np.ndarray:
    """Four maps as the quadrants of one."""
    whole = parts[0].copy()
    whole[:3, 4:], whole[4:, :3], whole[4:, 4:] = (
        parts[1, :3, 4:],
        parts[2, 4:, :3],
        parts[3, 4:, 4:],
    )
    return whole
