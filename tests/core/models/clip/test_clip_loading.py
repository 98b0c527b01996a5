"""CLIP models by name: folders, open_clip's names and tags, a hub out of reach; pickles never."""

import math
import socket
import time
from copy import deepcopy

import numpy as np
import open_clip
import pytest
import torch

from core.__main__ import main
from core.errors import InputError
from core.models import load, require_kind, tower_for
from core.models.clip import ClipModel, loading
from core.models.clip.names import HUB, Named, is_clip, named
from tests.core.models.clip import tiny
from tests.core.models.clip.folders import CONFIG, HUB_IS_OFF, save
from tests.core.models.clip.tiny import CONTEXT, TEXT, TEXTS, VIT, WIDTH, pictures


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
        ("hf-hub:timm/ViT-B-16-SigLIP", True), ("hf-hub:owner/name", True),
        ("hf-hub:timm/vit_small_patch14_reg4_dinov2.lvd142m", False), ("gpt2", False),
    ],
)  # fmt: skip
def test_names_go_to_the_library_that_has_them(name, clip):
    assert is_clip(name) == clip


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
        monkeypatch.setattr("core.models.files.hub.PROBE_SECONDS", 0.5)
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
    assert tower_for(model, "vision") is model.image
    assert tower_for(model, "text") is model.text
    assert tower_for(model.image, "vision") is model.image
    with pytest.raises(InputError, match="reads texts was wanted; 'tiny' reads pictures"):
        tower_for(model.image, "text")


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
