"""Sorting: labelled pictures into a folder a label, copied or linked; nothing is overwritten."""

import filecmp
import os
import re
import shutil
import unicodedata
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from core.errors import InputError

How = Literal["copy", "hard", "symbolic"]
LONGEST = 100  # bytes of a folder's name: systems take 255, and paths have an end too
FORBIDDEN = re.compile(r'[\\/:*?"<>|\x00-\x1f\x7f]+')  # on one system or another
# Names that Windows keeps for devices.
RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{name}{n}" for name in ("com", "lpt") for n in range(10)
}


class Move(NamedTuple):
    """One picture, and where it goes."""

    source: Path
    target: Path
    there: bool  # the same file is there already


def moves(labelled: Iterable[tuple[Path, str]], into: Path) -> Iterator[Move]:
    """Where each picture goes; pictures of one name are numbered, and so are labels that clash."""
    folders: dict[str, str] = {}
    taken: dict[Path, Path] = {}
    for source, label in labelled:
        folder = into / _folder_of(label, folders)
        number, target = 1, folder / source.name
        while not _is_free(source, target, taken):
            number += 1
            target = folder / f"{source.stem} {number}{source.suffix}"
        taken[target] = source
        yield Move(source, target, target.exists())


def sort(plan: Iterable[Move], how: How) -> None:
    """Copy or link the pictures that are not there yet.

    Raises:
        InputError: if the system does not allow it.
    """
    put = {"copy": shutil.copy2, "hard": os.link, "symbolic": _symlink}[how]
    for move in plan:
        if move.there:
            continue
        try:
            move.target.parent.mkdir(parents=True, exist_ok=True)
            put(move.source, move.target)
        except OSError as error:
            raise InputError(f"'{move.target}' cannot be made: {error.strerror}.") from error


def folder_name(label: str) -> str:
    """A label as a folder's name on every system."""
    name = unicodedata.normalize("NFC", FORBIDDEN.sub("_", label)).strip(" .")
    name = name.encode(errors="replace")[:LONGEST].decode(errors="ignore").strip(" .") or "_"
    return f"{name}_" if name.partition(".")[0].casefold() in RESERVED else name


def _folder_of(label: str, folders: dict[str, str]) -> str:
    """The label's folder; labels that differ in case or in forbidden signs only get a number."""
    if label not in folders:
        name, number, taken = folder_name(label), 1, {each.casefold() for each in folders.values()}
        free = name
        while free.casefold() in taken:
            number += 1
            free = f"{name} {number}"
        folders[label] = free
    return folders[label]


def _is_free(source: Path, target: Path, taken: dict[Path, Path]) -> bool:
    """May the picture lie there: nothing is, or the very same file from an earlier run?"""
    if target in taken:
        return False
    if not os.path.lexists(target):
        return True
    return target.exists() and filecmp.cmp(source, target, shallow=False)


def _symlink(source: Path, target: Path) -> None:
    target.symlink_to(source.resolve())
