"""What is refused as a CLIP model, with the way out: pickles, misfits, names without end."""

import json

import open_clip
import pytest
import torch
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError

from core.errors import InputError
from core.models import load
from core.models.clip import loading
from core.models.files.hub import hub_file
from tests.core.models.clip import tiny
from tests.core.models.clip.folders import CONFIG, save
from tests.core.models.clip.tiny import TEXT, VIT, WIDTH


@pytest.mark.parametrize("file", ["open_clip_pytorch_model.bin", "model.pt", "epoch_3.ckpt"])
def test_a_folder_with_a_pickle_is_refused_with_the_way_out(tmp_path, no_unpickling, file):
    (tmp_path / "open_clip_config.json").write_text(json.dumps({"model_cfg": CONFIG}))
    (tmp_path / file).write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match=f"only in {file}, a pickle") as refused:
        load(str(tmp_path))
    assert "save it as open_clip_model.safetensors" in str(refused.value)


def test_a_pickle_named_as_a_tag_is_refused_with_the_way_out(no_unpickling):
    with pytest.raises(InputError, match=r"'/tmp/mine\.pt' is a pickle.*give that folder"):
        load("ViT-B-32:/tmp/mine.pt")


@pytest.mark.parametrize("name", ["{}/model.pt", "{}/nope.BIN", "nope.ckpt"])
def test_a_path_of_a_pickle_is_refused_with_the_way_out(tmp_path, no_unpickling, name):
    (tmp_path / "model.pt").write_bytes(b"\x80\x04.")
    with pytest.raises(InputError, match=r"is a pickle.*save it as .*and give that folder\.$"):
        load(name.format(tmp_path))


def test_a_path_of_weights_asks_for_their_folder(tmp_path):
    save(tmp_path, torch.nn.Linear(2, 3))
    with pytest.raises(InputError, match=r"safetensors' is a file: give the folder that holds it"):
        load(str(tmp_path / "open_clip_model.safetensors"))


def test_a_tag_that_is_only_a_pickle_is_refused_with_the_way_out(monkeypatch):
    monkeypatch.setattr(loading, "pretrained", lambda _: {"hf_hub": "", "url": "x.pt"})
    with pytest.raises(InputError, match=r"only as a pickle.*open_clip_model.*give that folder"):
        load("ViT-B-32/openai")


def test_a_repository_without_safetensors_is_refused_with_the_way_out(monkeypatch):
    def missing(*_, local_files_only=False, **__):
        raise (LocalEntryNotFoundError if local_files_only else EntryNotFoundError)("none")

    monkeypatch.setattr("core.models.files.hub.hf_hub_download", missing)
    monkeypatch.setattr("core.models.files.hub.require_hub", lambda _: None)
    with pytest.raises(InputError, match=r"a file m\.safetensors; it has none.*give that folder"):
        hub_file("owner/name", "m.safetensors")
    with pytest.raises(InputError, match=r"with a file config\.json; it has none\.$"):
        hub_file("owner/name", "config.json")


def test_weights_of_another_width_are_told_with_the_first_that_does_not_fit(tmp_path):
    wider = CONFIG | {"embed_dim": WIDTH + 1}
    name = save(tmp_path, tiny.seeded(open_clip.CLIP(WIDTH, VIT, TEXT)), wider)
    said = (
        rf"wanted; these do not: \S+ has the shape \(\d+, {WIDTH}\), and \(\d+, {WIDTH + 1}\) was"
    )
    with pytest.raises(InputError, match=said):
        load(name)


@pytest.mark.parametrize("name", ["x" * 5_000, "x/" * 2_500, "ViT-B-32/" + "x" * 5_000])
def test_an_endless_name_does_not_come_back_whole(name):
    with pytest.raises(InputError, match=r"was wanted; '.{80}\.\.\.' came\.$"):
        load(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [("openai/clip-vit-base-patch32", r"Did you mean ViT-B-32\?$"),
     ("openai/clip-vit-large-patch14-336", r"Did you mean ViT-L-14-336\?$"),
     ("nonsense", r"try again with a connection\.$")],
)  # fmt: skip
def test_a_clip_as_transformers_names_it_brings_open_clips_name(offline, name, said):
    with pytest.raises(InputError, match=said):
        load(name)


@pytest.mark.parametrize("text", ["{", "[]", '{"model_cfg": 3}', '{"embed_dim": 3}'])
def test_a_config_of_another_kind_is_refused(tmp_path, text):
    save(tmp_path, torch.nn.Linear(2, 3))
    (tmp_path / "open_clip_config.json").write_text(text)
    with pytest.raises(InputError, match='with a "model_cfg" of vision_cfg and text_cfg'):
        load(str(tmp_path))


def test_weights_that_are_missing_are_refused(tmp_path):
    name = save(tmp_path, torch.nn.Linear(2, 3))
    with pytest.raises(InputError, match=r"wanted; these do not: positional_embedding is missing"):
        load(name)
    (tmp_path / "open_clip_model.safetensors").write_bytes(b"no tensors")
    with pytest.raises(InputError, match="damaged or of another kind"):
        load(name)


def test_an_image_tower_that_is_no_timm_model_is_refused(tmp_path):
    config = CONFIG | {"vision_cfg": {"timm_model_name": "hf-hub:nobody/nothing"}}
    name = save(tmp_path, torch.nn.Linear(2, 3), config)
    with pytest.raises(InputError, match="it knows no 'hf-hub:nobody/nothing'"):
        load(name)
