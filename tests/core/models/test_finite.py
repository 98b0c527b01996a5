"""Damaged weights end in a sentence that names the layer, never in a picture of nothing (U11)."""

import pytest
import torch
from open_clip import SimpleTokenizer
from open_clip.transform import PreprocessCfg

from core.__main__ import main
from core.errors import InputError
from core.models.clip.model import ClipModel
from tests.core.models.test_models import bert
from tests.core.models.text.tiny_text import decoder
from tests.core.zero_shot import small


def damaged(parameter):
    """What bytes of 0xFF are in float32."""
    parameter.data.view(torch.int32).fill_(-1)
    assert parameter.isnan().all()


@pytest.mark.parametrize("texts", ["the cat sat", ["the cat", "the cat sat a cats"]])
@pytest.mark.parametrize("layer", [0, 2])
def test_u11_the_first_layer_without_numbers_is_named(texts, layer):
    model = bert()
    model.run(texts)
    damaged(model.module.encoder.layer[layer].attention.self.key.weight)
    with pytest.raises(
        InputError, match=rf"^'tiny' gives no finite numbers in the keys of layer {layer}"
    ):
        model.run(texts)


def test_the_output_is_looked_at_too():
    model = bert()
    damaged(model.module.encoder.layer[2].output.dense.weight)
    with pytest.raises(InputError, match="in the output of its last layer"):
        model.run("the cat sat")


def test_an_output_head_alone():
    model = decoder("llama")
    assert model.run("the cat sat").output.predictions[0]
    damaged(model.module.lm_head.weight)
    with pytest.raises(InputError, match="in the probabilities, which its output head gives"):
        model.run("the cat sat")


@pytest.mark.parametrize("name", ["logit_scale", "logit_bias"])
def test_what_cosines_are_multiplied_by(name):
    module = small.module(init_logit_bias=-2.0)
    damaged(getattr(module, name))
    with pytest.raises(InputError, match="^'tiny' gives no finite numbers in the scale and bias"):
        ClipModel(module, SimpleTokenizer(), "tiny", preprocess=PreprocessCfg(size=small.SIZE))


def test_embeddings_of_pictures_and_texts():
    model = small.clip()
    damaged(model.module.visual.proj)
    with pytest.raises(InputError, match="gives no finite numbers"):
        model.encode_pictures(small.pictures(1))
    damaged(model.module.text_projection)
    with pytest.raises(InputError, match="gives no finite numbers"):
        model.encode_texts(["a cat"])


def test_the_command_writes_no_map_and_says_why(monkeypatch, tmp_path, capsys):
    model, out = bert(), tmp_path / "map.png"
    damaged(model.module.encoder.layer[1].attention.self.query.weight)
    monkeypatch.setattr("core.cli.maps.load", lambda *_, **__: model)
    assert main(["maps", "the cat sat", "--out", str(out)]) == 2
    assert "in the queries of layer 1" in capsys.readouterr().err
    assert not out.exists()
