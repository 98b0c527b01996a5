"""Fetching: only the pinned bytes are taken, and only plain files out of them."""

import hashlib
import io
import shutil
import tarfile
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
        link = tarfile.TarInfo("package/pictures/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return path


def archive(sha256: str = "", tool: str = "npm") -> Archive:
    return Archive(tool, "some-pictures", "1.2.3", sha256, ("package/pictures",))


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


def test_only_plain_files_of_the_wanted_folders_are_unpacked(tmp_path):
    package = packed(tmp_path / "a.tgz", **{"pictures.png": b"7", "index.js": b"run me"})
    unpack(package, archive(), tmp_path / "files")
    found = [path.relative_to(tmp_path / "files") for path in (tmp_path / "files").rglob("*.*")]
    assert found == [Path("package/pictures.png")]


@pytest.mark.parametrize("name", ["google", "openclipart"])
def test_a_missing_tool_is_named(name, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    with pytest.raises(InputError, match=rf"{data.ARCHIVES[name].tool} was wanted to fetch"):
        fetch(name, tmp_path)
    assert not any(path.is_dir() for path in data.data_folder(tmp_path).iterdir())


def test_what_is_there_is_not_fetched_again(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda tool: None)
    folder = data.data_folder(tmp_path) / f"google-{data.ARCHIVES['google'].sha256[:12]}"
    folder.mkdir(parents=True)
    assert fetch("google", tmp_path) == folder
