"""From fetched pictures to everything that training and measuring need."""

import random
from collections.abc import Sequence
from pathlib import Path

from open_clip import IMAGENET_CLASSNAMES

from core.models.clip_mini import ClipParts
from core.models.clip_mini.training.catalogue import Item
from core.models.clip_mini.training.data import Progress
from core.models.clip_mini.training.evaluation import texts_of
from core.models.clip_mini.training.features import (
    Maps,
    changed_views,
    computed,
    mosaics,
    plain_views,
    unfinished,
)
from core.models.clip_mini.training.imagined import Imagination
from core.models.clip_mini.training.lessons import PLACES, Lessons, Said
from core.models.clip_mini.training.splits import Split, captions
from core.models.clip_mini.training.texts import TEMPLATES, Sentences, sentences

TURNS = 2  # changed views of each picture
MOSAICS = 4_800  # to learn from
QUADRANTS = 4
SHARE = 0.5  # of ConSE in the vector of a picture: as much as the head where lite0 is sure


def lessons(
    items: Sequence[Item], split: Split, parts: ClipParts, folder: Path, on_progress: Progress
) -> Lessons:
    """Features and captions of all pictures that are learned from, kept in the folder."""
    paths = [item.path for item in items]
    lite0, conse = parts.module.visual.trunk.lite0, parts.module.visual.trunk.conse
    said = {index: captions(items[index], split.words) for index in split.train}
    known = sentences(_texts(said.values()), texts_of(parts), folder, on_progress)
    conse.names.copy_(known(IMAGENET_CLASSNAMES))
    names = sorted({words[0] for words in said.values()})
    kinds = [plain_views(paths), *(changed_views(paths, turn) for turn in range(TURNS))]
    views = [computed(kind, lite0, folder, on_progress) for kind in kinds]
    quadrants = grouped([items[index].heads[0] for index in split.train], MOSAICS, seed=0)
    quadrants = [[split.train[place] for place in group] for group in quadrants]
    kind = mosaics(paths, quadrants, "mosaic", plain=False)
    return Lessons(
        lite0=lite0,
        views=views,
        mosaics=computed(kind, lite0, folder, on_progress),
        quadrants=quadrants,
        pictures=split.train,
        said={index: _said(words, known, names) for index, words in said.items()},
        texts=known.rows,
        names=known(names),
        imagination=Imagination(lite0, unfinished(_places_of(views[0], split), lite0)),
        conse=conse,
        share=SHARE,
    )


def _places_of(maps: Maps, split: Split) -> Maps:
    """Every fourth picture that is learned from: enough to know how drawings differ."""
    return maps[list(split.train[::4])].reshape(-1, PLACES, maps.shape[-1])


def grouped(heads: Sequence[str], count: int, *, seed: int) -> list[list[int]]:
    """Groups of four places in a list, of different heads each, every place about as often.

    Raises:
        ValueError: if there are fewer than four different heads.
    """
    if len(set(heads)) < QUADRANTS:
        raise ValueError(f"{QUADRANTS} different heads were wanted; {len(set(heads))} came")
    chance, waiting, groups = random.Random(seed), [], []
    while len(groups) < count:
        if len({heads[place] for place in waiting}) < QUADRANTS:
            waiting += chance.sample(range(len(heads)), len(heads))
        group: dict[str, int] = {}
        for place in waiting:
            if len(group) < QUADRANTS:
                group.setdefault(heads[place], place)
        waiting = [place for place in waiting if place not in group.values()]
        groups.append(list(group.values()))
    return groups


def _texts(said: Sequence[tuple[str, ...]]) -> list[str]:
    texts = list(IMAGENET_CLASSNAMES)
    for name, *others in said:
        texts += [template.format(name) for template in TEMPLATES] + others
    return texts


def _said(words: tuple[str, ...], known: Sentences, names: list[str]) -> Said:
    name, *others = words
    return Said(
        names=tuple(known.place[template.format(name)] for template in TEMPLATES),
        others=tuple(known.place[word] for word in others),
        concept=names.index(name),
    )
