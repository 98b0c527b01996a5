"""CLIP models by name: folders, open_clip's names and tags, a hub out of reach; pickles never."""

import json
import math
import socket
import time
from copy import deepcopy

import numpy as np
import open_clip
import pytest
import torch
from huggingface_hub.errors import EntryNotFoundError, LocalEntryNotFoundError
from safetensors.torch import save_file

from core.__main__ import main
from core.errors import InputError
from core.models import half, load, require_kind
from core.models.clip import ClipModel, loading
from core.models.clip.loading import is_clip
from core.models.clip.names import HUB, Named, named
from core.models.hub import hub_file
from tests.core.models.clip import tiny
from tests.core.models.clip.tiny import CONTEXT, TEXT, TEXTS, VIT, WIDTH, pictures

CONFIG = {"embed_dim": WIDTH, "vision_cfg": VIT, "text_cfg": TEXT}
HUB_IS_OFF = "huggingface_hub.constants.HF_HUB_OFFLINE"


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(HUB_IS_OFF, True)


@pytest.fixture
def no_unpickling(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("something was unpickled")

    monkeypatch.setattr(torch, "load", refuse)


def save(folder, module, config=CONFIG, **preprocess):
    described = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    weights = {name: weight.contiguous() for name, weight in module.state_dict().items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    return str(folder)


def test_a_folder_loads_with_its_own_preprocessing_and_equals_open_clip(tmp_path, no_unpickling):
    module = tiny.seeded(open_clip.CLIP(WIDTH, VIT, TEXT))
    name = save(tmp_path, module, mean=[0.5] * 3, std=[0.25] * 3, resize_mode="squash")
    model = load(name, device="cpu")
    assert isinstance(model, ClipModel)
    assert (model.facts.mean, model.facts.std) == ((0.5,) * 3, (0.25,) * 3)
    assert (model.facts.size, model.facts.context) == ((32, 32), CONTEXT)
    own, _, transform = open_clip.create_model_and_transforms(f"local-dir:{tmp_path}")
    pixels = torch.stack([transform(picture.pixels) for picture in pictures()])
    tokenizer = open_clip.get_tokenizer(f"local-dir:{tmp_path}")
    with torch.inference_mode():
        images = own.eval().encode_image(pixels, normalize=True)
        texts = own.encode_text(tokenizer(TEXTS), normalize=True)
    torch.testing.assert_close(model.encode_pictures(pictures()), images)
    torch.testing.assert_close(model.encode_texts(TEXTS), texts)


def test_a_folder_with_a_text_tower_of_transformers_loads_without_a_hub(offline, tmp_path):
    text = tmp_path / "bert"
    tiny.save_bert(text)
    module = tiny.seeded(tiny.custom_module(text))
    config = CONFIG | {"text_cfg": {
        "hf_model_name": "bert", "hf_tokenizer_name": "bert", "hf_pooler_type": "mean_pooler",
        "hf_proj_type": "mlp", "context_length": CONTEXT,
    }}  # fmt: skip
    name = save(tmp_path, module, config)
    with pytest.raises(InputError, match="wanted with its tokenizer"):
        load(name, device="cpu")
    tiny.word_piece().save_pretrained(tmp_path)
    model = load(name, device="cpu")
    ids = model.text.reading.tokenizer(TEXTS)
    with torch.inference_mode():
        own = module.encode_text(ids, normalize=True)
    torch.testing.assert_close(model.encode_texts(TEXTS), own)


def test_the_scale_of_a_model_of_short_numbers_stays_exact(tmp_path):
    module = tiny.seeded(open_clip.CLIP(WIDTH, VIT, TEXT))
    model = load(save(tmp_path, module), device="cpu", precision="bfloat16")
    assert model.dtype == torch.bfloat16
    assert model.scale == pytest.approx(math.exp(2.0))


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

    monkeypatch.setattr("core.models.hub.hf_hub_download", missing)
    monkeypatch.setattr("core.models.hub.require_hub", lambda _: None)
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


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("ViT-B-32/laion2b_s34b_b79k", ("ViT-B-32", "laion2b_s34b_b79k")),
        ("ViT-B-32:laion2b_s34b_b79k", ("ViT-B-32", "laion2b_s34b_b79k")),
        ("ViT-B/32:openai", ("ViT-B-32", "openai")),
        ("ViT-B/32/openai", ("ViT-B-32", "openai")),
        ("ViT-B/32", ("ViT-B-32", "")),
        ("RN50", ("RN50", "")),
        ("convnext_base/laion400m_s13b_b51k", ("convnext_base", "laion400m_s13b_b51k")),
        ("convnext_base", None),  # timm's
        ("bert-base-uncased", None),
        ("openai/clip-vit-base-patch32", None),  # of transformers
        ("hf-hub:timm/ViT-B-16-SigLIP", None),
    ],
)
def test_open_clips_names_are_known_from_others(name, parts):
    assert named(name) == (None if parts is None else Named(*parts))


@pytest.mark.parametrize(
    ("name", "clip"),
    [
        ("clip-mini", True), ("hf-hub:timm/ViT-B-16-SigLIP", True), ("hf-hub:owner/name", True),
        ("hf-hub:timm/vit_small_patch14_reg4_dinov2.lvd142m", False), ("gpt2", False),
    ],
)  # fmt: skip
def test_names_go_to_the_library_that_has_them(name, clip):
    assert is_clip(name, None) == clip


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ViT-B-33/laion2b_s34b_b79k", "knows no 'ViT-B-33'; near it are ViT-B-32"),
        ("ViT-B-32/laion2b_s34b_b79x", "near it (is|are) laion2b_s34b_b79k"),
        ("vit-b-32/openai", "knows no 'vit-b-32'; near it are ViT-B-32"),
        ("ViT-B-32:opnai", r"with a tag .* 'opnai' came; near it is openai\."),
        ("RN50", r"as in 'RN50/openai'; none came. It has openai, yfcc15m, cc12m\."),
        ("ViT-B-3", "Did you mean ViT-B-32"),
    ],
)
def test_an_unknown_model_or_tag_brings_near_names(offline, name, said):
    with pytest.raises(InputError, match=said):
        load(name)


@pytest.mark.parametrize(
    "name",
    ["ViT-B-32/laion2b_s34b_b79k", "ViT-B-16-SigLIP/webli", f"{HUB}nobody/nothing-{CONTEXT}",
     "roberta-ViT-B-32/laion2b_s12b_b32k"],
)  # fmt: skip
def test_a_hub_that_is_out_of_reach_is_one_sentence_within_seconds(monkeypatch, name):
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes calls and never answers
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setattr(HUB_IS_OFF, False)
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", address)
        monkeypatch.setattr("core.models.hub.PROBE_SECONDS", 0.5)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        began = time.perf_counter()
        with pytest.raises(InputError, match="The model hub cannot be reached to fetch"):
            load(name)
        assert time.perf_counter() - began < 5


def test_a_clip_is_told_from_other_models(models):
    model = models["ViT"]
    require_kind(model, "clip")
    with pytest.raises(InputError, match="reads texts was wanted; 'tiny' reads pictures with"):
        require_kind(model, "text")
    assert half(model, "vision") is model.image
    assert half(model, "text") is model.text
    assert half(model.image, "vision") is model.image
    with pytest.raises(InputError, match="reads texts was wanted; 'tiny' reads pictures"):
        half(model.image, "text")


def test_the_command_line_draws_maps_of_either_tower(tmp_path):
    module = tiny.seeded(open_clip.CLIP(WIDTH, VIT, TEXT))
    name = save(tmp_path, module)
    picture, out = tmp_path / "noise.png", tmp_path / "map.npz"
    pictures()[0].pixels.save(picture)
    assert main(["maps", str(picture), "--model", name, "--out", str(out)]) == 0
    assert np.load(out)["weights"].shape == (17, 17)
    assert main(["maps", str(picture), "--model", name, "--out", str(out.with_suffix(".png"))]) == 0
    assert main(["maps", "a cat", "--model", name, "--out", str(out)]) == 0
    assert np.load(out)["weights"].shape == (4, 4)


def test_the_command_line_draws_the_pool_of_a_resnet(tmp_path):
    config = CONFIG | {"vision_cfg": tiny.RESNET}
    name = save(tmp_path, tiny.seeded(open_clip.CLIP(WIDTH, tiny.RESNET, TEXT)), config)
    picture, out = tmp_path / "noise.png", tmp_path / "map.png"
    pictures()[0].pixels.save(picture)
    wanted = ["maps", str(picture), "--model", name, "--out", str(out)]
    assert main(wanted) == 0
    assert main([*wanted, "--query", "pool query"]) == 0
    out = out.with_suffix(".html")
    assert main([*wanted[:-1], str(out)]) == 0


@pytest.mark.parametrize(
    ("name", "file", "quick"),
    [
        ("ViT-B-32/openai", "timm/vit_base_patch32_clip_224.openai: open_clip_model", True),
        ("ViT-B-32:laion2b_s34b_b79k",
         "laion/CLIP-ViT-B-32-laion2B-s34B-b79K: open_clip_model", False),
        ("ViTamin-S/datacomp1b", "jienengchen/ViTamin-S: pytorch_model", False),
    ],
)  # fmt: skip
def test_a_tag_brings_its_file_and_its_activation(monkeypatch, tmp_path, name, file, quick):
    module = tiny.seeded(open_clip.CLIP(WIDTH, VIT, TEXT, quick_gelu=quick))
    save(tmp_path, module)
    asked = []

    def hub_file(repository, filename):
        asked.append(f"{repository}: {filename}")
        return tmp_path / "open_clip_model.safetensors"

    monkeypatch.setattr(loading, "hub_file", hub_file)
    monkeypatch.setattr(open_clip, "get_model_config", lambda _: deepcopy(CONFIG))
    model = load(name, device="cpu")
    assert asked == [f"{file}.safetensors"]
    with torch.inference_mode():
        own = module.encode_image(model.image.pixels(pictures()), normalize=True)
    torch.testing.assert_close(model.encode_pictures(pictures()), own)
