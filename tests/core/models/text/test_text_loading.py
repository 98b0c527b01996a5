"""Loading text models: folders, the hub, and the ones whose weights are fetched."""

import socket

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from core.errors import InputError
from core.models.files import hub
from core.models.text import loading
from core.models.text.model import TextModel
from tests.core.models.text.tiny_text import CAT, labels


@pytest.fixture(scope="module")
def minilm(fetched) -> TextModel:
    fetched("minilm")
    return loading.load_minilm()


@pytest.fixture(scope="module")
def smollm2(fetched) -> TextModel:
    fetched("smollm2")
    return loading.load_smollm2()


@pytest.fixture
def saved(tmp_path, bert, capfd):
    bert.module.save_pretrained(tmp_path)
    bert.tokenizer.save_pretrained(tmp_path)
    capfd.readouterr()
    return tmp_path


def test_a_local_folder_loads_as_it_was_saved_and_in_silence(saved, bert, capfd):
    model = loading.load_transformers(saved)
    assert (model.family, model.max_positions, model.dtype) == ("encoder", 7, torch.float32)
    expected, found = (either.forward(either.prepare(CAT)).hidden for either in (bert, model))
    torch.testing.assert_close(found, expected)
    assert capfd.readouterr() == ("", "")


def test_loading_leaves_the_librarys_logging_as_it_was(saved):
    before = (hf.logging.get_verbosity(), hf.logging.is_progress_bar_enabled())
    loading.load_transformers(str(saved), "cpu", torch.bfloat16)
    assert (hf.logging.get_verbosity(), hf.logging.is_progress_bar_enabled()) == before


def test_missing_weights_are_told_not_made_up(saved):
    state = load_file(saved / "model.safetensors")
    state.pop("encoder.layer.1.output.dense.weight")
    save_file(state, saved / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"1 are missing .* encoder\.layer\.1\.output\.dense"):
        loading.load_transformers(saved)


def test_broken_weights_are_explained(saved):
    (saved / "model.safetensors").write_bytes(b"\x09\x00\x00\x00\x00\x00\x00\x00nonsense")
    with pytest.raises(InputError, match="transformers cannot load it"):
        loading.load_transformers(saved)


def test_a_folder_without_weights_is_explained(saved):
    (saved / "model.safetensors").unlink()
    with pytest.raises(InputError, match="safetensors"):
        loading.load_transformers(saved)


def test_pickles_are_refused(saved):
    (saved / "model.safetensors").rename(saved / "pytorch_model.bin")
    with pytest.raises(InputError, match="pickle"):
        loading.load_transformers(saved)


def test_a_folder_without_a_tokenizer_is_explained(saved):
    for path in saved.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(InputError, match="with its tokenizer"):
        loading.load_transformers(saved)


def test_a_model_of_pictures_is_no_text_model(tmp_path):
    config = hf.ViTConfig(
        hidden_size=20, num_hidden_layers=2, num_attention_heads=5, intermediate_size=23,
        image_size=21, patch_size=7,
    )  # fmt: skip
    hf.ViTModel(config).save_pretrained(tmp_path)
    with pytest.raises(InputError, match="of the type 'vit', which reads something else"):
        loading.load_transformers(tmp_path)


def test_code_that_comes_with_a_model_is_never_run(saved):
    (saved / "evil.py").write_text("raise SystemExit('ran')")
    config = (
        (saved / "config.json").read_text().replace('"model_type": "bert"', '"model_type": "x"')
    )
    auto = '{"auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"},'
    (saved / "config.json").write_text(config.replace("{", auto, 1))
    with pytest.raises(InputError, match="transformers cannot load it"):
        loading.load_transformers(saved)


@pytest.mark.parametrize("name", ["/no/such/folder", "./neither", "~/nor-this"])
def test_a_path_that_is_not_there_is_no_name_of_a_model(name):
    with pytest.raises(InputError, match="there is no folder"):
        loading.load_transformers(name)


def test_a_hub_that_does_not_answer_is_told_at_once(monkeypatch):
    def refused(*_, **__):
        raise OSError("nobody there")

    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(socket, "create_connection", refused)
    with pytest.raises(InputError, match="hub cannot be reached"):
        loading.load_transformers("owner/certainly-not-cached")


def test_a_cached_model_needs_no_hub(saved, monkeypatch):
    monkeypatch.setattr(loading, "hub_file", lambda name, file: saved / file)
    monkeypatch.setattr(loading, "require_hub", lambda name: pytest.fail("the hub was asked"))
    assert loading.load_transformers("owner/name").name == "owner/name"


def test_a_cache_that_lacks_a_part_asks_the_hub(saved, monkeypatch):
    index = '{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}'
    (saved / "model.safetensors.index.json").write_text(index)
    (saved / "model.safetensors").rename(saved / "model-1.safetensors")
    monkeypatch.setattr(loading, "hub_file", lambda name, file: saved / file)
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(InputError, match="HF_HUB_OFFLINE is set"):
        loading.load_transformers("owner/name")


def test_minilm_finds_the_nearer_sentence(minilm):
    texts = ["A cat sits on the mat.", "A kitten rests on a rug.", "Interest rates rose again."]
    with torch.inference_mode():
        cat, kitten, rates = minilm.forward(minilm.prepare(texts)).embedding
    similarity = torch.nn.functional.cosine_similarity
    assert similarity(cat, kitten, dim=0) > 0.5 > 0.2 > similarity(cat, rates, dim=0)


def test_minilm_reads_512_tokens_of_a_long_text(minilm):
    prepared = minilm.prepare("word " * 10_000)
    assert prepared.notes == ("The first 512 of 10,002 tokens were read.",)
    assert prepared.texts[0] == ("word " * 510).rstrip()


def test_smollm2_knows_the_capital_of_france(smollm2):
    with torch.inference_mode():
        likely = smollm2.forward(smollm2.prepare(" The capital of France is")).predictions[0]
    assert likely[0].label == "␣Paris"
    assert sum(next_token.probability for next_token in likely) <= 1


def test_t6_smollm2_labels_are_characters(smollm2):
    shown = labels(smollm2, "café 🙂 שלום Ω")
    assert shown[:6] == ["c", "af", "é", "␣🙂", "␣<D7>", "<A9>"]
    assert shown[-2:] == ["␣<CE>", "<A9>"]
