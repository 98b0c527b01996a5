"""Folders: the pictures of a folder and their vectors, a few at a time, bad files told apart."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from core.errors import InputError, MechanismError
from core.models.clip.model import ClipModel
from core.models.vision.images import ENDINGS, MAX_PIXELS, Picture, open_picture


class Encoded(NamedTuple):
    """One picture file: its vector of length 1, or why there is none."""

    name: str
    vector: Float[Tensor, " dim"] | None
    error: str = ""


def pictures_in(folder: Path) -> list[Path]:
    """Every picture file of a folder and of the folders in it, sorted; hidden ones are left out.

    Raises:
        InputError: if it is no folder, cannot be read, or holds no picture.
    """
    paths = [path for path in _files(folder) if path.name.lower().endswith(ENDINGS)]
    if not paths:
        endings = ", ".join(ENDINGS)
        raise InputError(f"Pictures were wanted; no file in '{folder}' ends in {endings}.")
    return sorted(paths)


def left_out(folder: Path) -> Counter[str]:
    """How many files of the folder are no pictures by their ending, for each ending.

    Raises:
        InputError: if it is no folder, or cannot be read.
    """
    others = (path for path in _files(folder) if not path.name.lower().endswith(ENDINGS))
    return Counter(path.suffix.lower() or "without an ending" for path in others)


def _files(folder: Path) -> Iterator[Path]:
    """Every file of a folder and of the folders in it, but hidden ones."""
    if not folder.is_dir():
        raise InputError(f"A folder of pictures was wanted; '{folder}' is none.")
    for place, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in files if not name.startswith("."))


def name_in(folder: Path, path: Path) -> str:
    """The path below the folder, with / between; bytes that are no Unicode are written out."""
    return path.relative_to(folder).as_posix().encode(errors="backslashreplace").decode()


def encoded(
    model: ClipModel, folder: Path, paths: Sequence[Path], mechanism: str | None, batch: int
) -> Iterator[list[Encoded]]:
    """The vectors of the pictures at these paths, at most `batch` at a time.

    Raises:
        MechanismError: if the model cannot run this mechanism at all.
    """
    for group in _opened(folder, paths, batch):
        pictures = [picture for _, picture, _ in group if picture is not None]
        results = iter(_vectors(model, pictures, mechanism))
        found = []
        for name, picture, error in group:
            result = error if picture is None else next(results)
            bad = isinstance(result, str)
            found.append(Encoded(name, None if bad else result, result if bad else ""))
        yield found


def _opened(
    folder: Path, paths: Sequence[Path], batch: int
) -> Iterator[list[tuple[str, Picture | None, str]]]:
    """Groups of opened files; a group ends early where its pictures are large."""
    group, pixels = [], 0
    for path in paths:
        name = name_in(folder, path)
        try:
            picture, error = open_picture(path, name), ""
            pixels += picture.pixels.width * picture.pixels.height
        except InputError as bad:
            picture, error = None, str(bad)
        group.append((name, picture, error))
        if len(group) == batch or pixels >= MAX_PIXELS:
            yield group
            group, pixels = [], 0
    if group:
        yield group


def _vectors(
    model: ClipModel, pictures: list[Picture], mechanism: str | None
) -> list[Float[Tensor, " dim"] | str]:
    """A vector for each picture, or the sentence with which the model refuses it."""
    if not pictures:
        return []
    try:
        return list(model.encode_pictures(pictures, mechanism, batch=len(pictures)))
    except MechanismError:
        raise
    except InputError as error:
        if len(pictures) == 1:
            return [str(error)]
        return [result for picture in pictures for result in _vectors(model, [picture], mechanism)]


def _unreadable(error: OSError) -> None:
    raise InputError(
        f"A folder of pictures was wanted; '{error.filename}' cannot be read ({error.strerror})."
    ) from error
