"""Labelling: the first labels of every picture of a folder, or all its pictures ranked by words."""

import csv
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.models.clip.model import PICTURES, ClipModel
from core.picture.files.csv_cells import unguarded
from core.zero_shot.encodings import Encodings
from core.zero_shot.folders.pictures import Encoded, encoded, name_in, pictures_in
from core.zero_shot.folders.resumable_table import ERROR, Table
from core.zero_shot.labels.templates import TEMPLATES
from core.zero_shot.none_of_these import decided
from core.zero_shot.scores import Scores, label_vectors, score
from core.zero_shot.table import number, settings_of

SHORT = 60  # letters of a list that stands in a cell as it is; of a longer one its count and digest

Tell = Callable[[float], None]  # the share that is done, 0 to 1; may raise to stop


@dataclass(frozen=True)
class Job:
    """Which pictures are looked at, how, and where the answers go."""

    folder: Path
    out: Path
    templates: tuple[str, ...]
    mechanism: str | None = None
    batch: int = PICTURES
    top: int = 5  # labels a picture
    least_cosine: float | None = None  # below it a picture is none of these

    def __post_init__(self) -> None:
        """Refuse numbers below 1.

        Raises:
            InputError: if nothing would be done.
        """
        for name, value in (("batch", self.batch), ("top", self.top)):
            if value < 1:
                raise InputError(f"A {name} of at least 1 was wanted; {value} came.")


class Summary(NamedTuple):
    """How many pictures were read now, were there already, and could not be read."""

    read: int
    skipped: int
    failed: int


def label_folder(
    model: ClipModel,
    job: Job,
    labels: Sequence[str],
    on_share: Tell | None = None,
    on_texts: Tell | None = None,
) -> Summary:
    """Write a row for each picture of the folder: its first labels, or why it cannot be read.

    A table that is there is continued, if its settings are the same. Rows are on the disk after
    each batch, and no picture is kept: a stop costs one batch, and memory does not grow. The texts
    are encoded first, which `on_texts` is told of.

    Raises:
        InputError: if folder, labels, mechanism or table do not allow it.
    """
    paths = pictures_in(job.folder)
    table = _label_table(model, job, labels)
    done = table.begin()
    missing = [path for path in paths if name_in(job.folder, path) not in done]
    read, failed = 0, 0
    if missing:
        per_template = Encodings().labels(
            model, labels, job.templates, job.mechanism, on_share=on_texts
        )
    for group in encoded(model, job.folder, missing, job.mechanism, job.batch):
        table.add(_label_rows(table, group, model, per_template, job, labels))
        bad = sum(found.vector is None for found in group)
        read, failed = read + len(group) - bad, failed + bad
        if on_share is not None:
            on_share((read + failed) / len(missing))
    return Summary(read, len(paths) - len(missing), failed)


def labelled(job: Job) -> Iterator[tuple[Path, str]]:
    """The pictures of a table that was written, and what each is called; bad files are left out.

    Raises:
        InputError: if there is no such table.
    """
    try:
        with job.out.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except OSError as error:
        raise InputError(f"'{job.out}' cannot be read: {error.strerror}.") from error
    for row in rows:
        if not row[ERROR]:
            yield job.folder / unguarded(row["file"]), unguarded(row["decision"])


def rank_folder(model: ClipModel, job: Job, words: str, on_share: Tell | None = None) -> Summary:
    """Write the pictures of the folder, the nearest to the words first and bad files last.

    Nothing is written before all are ranked; an earlier ranking is replaced.

    Raises:
        InputError: if folder, words or mechanism do not allow it, or another kind of file is there.
    """
    words = " ".join(words.split())
    if not words:
        raise InputError("Type at least one word.")
    paths = pictures_in(job.folder)
    table = Table(job.out, ("rank", "cosine"), {"words": words, **_settings(model, job)})
    table.rows()  # refuses a file of another kind
    vectors = Encodings().labels(model, (words,), job.templates, job.mechanism)
    direction = label_vectors(vectors)[0]
    near: list[tuple[float, str]] = []
    bad: list[Encoded] = []
    for group in encoded(model, job.folder, paths, job.mechanism, job.batch):
        near += [
            (number(found.vector @ direction), found.name)
            for found in group
            if found.vector is not None
        ]
        bad += [found for found in group if found.vector is None]
        if on_share is not None:
            on_share((len(near) + len(bad)) / len(paths))
    near.sort(key=lambda pair: -pair[0])
    rows = [table.row(name, [rank, cosine]) for rank, (cosine, name) in enumerate(near, start=1)]
    table.write(rows + [table.row(found.name, [], found.error) for found in bad])
    return Summary(len(near), 0, len(bad))


def _label_table(model: ClipModel, job: Job, labels: Sequence[str]) -> Table:
    ranks = range(1, min(job.top, len(labels)) + 1)
    firsts = ["decision"]
    firsts += [f"{what}_{rank}" for rank in ranks for what in ("label", "cosine", "probability")]
    settings = {
        **_settings(model, job),
        "probability": settings_of(model, job.mechanism, job.templates).probability(),
        "labels": _short(labels, "labels"),
        "least_cosine": "" if job.least_cosine is None else f"{job.least_cosine:g}",
    }
    return Table(job.out, (*firsts, "cosine_margin", "probability_margin"), settings)


def _label_rows(
    table: Table,
    group: Sequence[Encoded],
    model: ClipModel,
    per_template: Float[Tensor, "template label dim"],
    job: Job,
    labels: Sequence[str],
) -> Iterator[list[object]]:
    vectors = [found.vector for found in group if found.vector is not None]
    scored = iter(())
    if vectors:
        scores = score(
            torch.stack(vectors), per_template, labels=labels, templates=job.templates,
            scale=model.scale, bias=model.bias, sigmoid=model.sigmoid,
        )  # fmt: skip
        scored = _results(scores, job)
    for found in group:
        yield table.row(found.name, [] if found.vector is None else next(scored), found.error)


def _results(scores: Scores, job: Job) -> Iterator[list[object]]:
    """For each picture what it is called, its first labels with their scores, and the margins."""
    margin, called = scores.margin, decided(scores, job.least_cosine)
    for picture, order in enumerate(scores.best(job.top).tolist()):
        cells: list[object] = [called[picture]]
        for label in order:
            cells += [scores.labels[label], number(scores.cosine[picture, label])]
            cells.append(_cell(scores.probability, (picture, label)))
        yield [
            *cells,
            _cell(margin and margin.cosine, picture),
            _cell(margin and margin.probability, picture),
        ]


def _cell(values: np.ndarray | None, place: int | tuple[int, int]) -> float | str:
    return "" if values is None else number(values[place])


def _settings(model: ClipModel, job: Job) -> dict[str, str]:
    about = settings_of(model, job.mechanism, job.templates)
    return {
        "folder": job.folder.as_posix().encode(errors="backslashreplace").decode(),
        "model": about.model,
        "mechanism": about.mechanism,
        "precision": about.precision,
        "templates": _short(job.templates, "templates"),
    }


def _short(items: Sequence[str], noun: str) -> str:
    """A list in a cell: as it is, by its name, or by its length and a digest."""
    named = {own: name for name, own in TEMPLATES.items()}
    label = named.get(tuple(items), " | ".join(items))
    if len(label) <= SHORT:
        return label
    digest = hashlib.blake2b("\n".join(items).encode(), digest_size=4).hexdigest()
    return f"{len(items):,} {noun} ({digest})"
