"""A model whose files are damaged: one sentence that names it, never a traceback."""

import json
import logging
from pathlib import Path

import platformdirs
import pytest
import timm
import torch
import transformers as hf
from safetensors.torch import save_file

from core.errors import InputError, OutOfMemoryError
from core.models import OFFLINE, SOURCES, fetch, load
from core.models.files import weights
from core.models.text import loading
from tests.core.words import bert_tokenizer


@pytest.fixture
def bert(tmp_path):
    torch.manual_seed(0)
    config = hf.BertConfig(
        vocab_size=11, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=7,
    )  # fmt: skip
    folder = tmp_path / "mine"
    hf.BertModel(config).save_pretrained(folder)
    bert_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def vit(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    save_file(timm.create_model("test_vit").state_dict(), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architecture": "test_vit"}))
    return folder


def change(folder, **changed):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changed))


def write(name, content):
    return lambda folder: (folder / name).write_text(content)


def refused(folder):
    with pytest.raises(InputError, match="mine") as error:
        load(str(folder), device="cpu")
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


TEXT_DAMAGE = {
    "config is null": write("config.json", "null"),
    "config is a list": write("config.json", "[]"),
    "config is cut off": write("config.json", '{"model_type": "be'),
    "no heads": lambda folder: change(folder, num_attention_heads=0),
    "size is a word": lambda folder: change(folder, hidden_size="x"),
    "type is a number": lambda folder: change(folder, model_type=7),
    "tokenizer is a list": write("tokenizer.json", "[]"),
    "tokenizer settings are null": write("tokenizer_config.json", "null"),
    "weights are nonsense": write("model.safetensors", "nonsense"),
    "weights are empty": write("model.safetensors", ""),
}
VISION_DAMAGE = {
    "pretrained_cfg is a list": lambda folder: change(folder, pretrained_cfg=[]),
    "pretrained_cfg is a word": lambda folder: change(folder, pretrained_cfg="x"),
    "model_args is a list": lambda folder: change(folder, model_args=[7]),
    "classes are a word": lambda folder: change(folder, num_classes="x"),
    "weights are nonsense": write("model.safetensors", "nonsense"),
}


@pytest.mark.parametrize("damage", TEXT_DAMAGE)
def test_a_damaged_text_model_is_one_sentence(bert, damage):
    TEXT_DAMAGE[damage](bert)
    refused(bert)


@pytest.mark.parametrize("damage", VISION_DAMAGE)
def test_a_damaged_vision_model_is_one_sentence(vit, damage):
    VISION_DAMAGE[damage](vit)
    refused(vit)


def test_a_folder_that_may_not_be_read_is_one_sentence(bert, monkeypatch):
    def forbidden(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_text", forbidden)
    assert "Permission denied" in refused(bert)


def test_what_the_library_raised_is_logged_and_not_printed(bert, caplog, capfd):
    change(bert, num_attention_heads=0)
    with caplog.at_level(logging.INFO, logger="headlight"):
        refused(bert)
    (record,) = caplog.records
    assert record.exc_info[0] is ZeroDivisionError
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", OFFLINE)
def test_damaged_weights_in_the_cache_are_named_by_the_folder_to_delete(
    name, monkeypatch, tmp_path
):
    monkeypatch.setattr(platformdirs, "user_cache_dir", lambda *_: str(tmp_path))
    folders = [weights.cached(part) for part in SOURCES[name]]
    for part, folder in zip(SOURCES[name], folders, strict=True):
        folder.mkdir()
        for file in weights.SOURCES[part].members.values():
            (folder / file).write_text("nonsense")
    with pytest.raises(InputError, match="delete that folder, and they are fetched") as error:
        load(name, device="cpu")
    where = " and ".join(map(str, folders))
    assert f"what lies in {where} cannot be loaded" in str(error.value)
    assert len(str(error.value).splitlines()) == 1
    if name == "smollm2":  # the only one that is unpacked as it is fetched
        with pytest.raises(InputError, match="delete that folder"):
            fetch(name)


def test_too_little_memory_is_no_damage(bert, monkeypatch):
    def full(*_, **__):
        raise torch.OutOfMemoryError("CUDA out of memory.")

    monkeypatch.setattr(loading, "_module", full)
    with pytest.raises(OutOfMemoryError, match="not enough memory"):
        load(str(bert), device="cpu")
