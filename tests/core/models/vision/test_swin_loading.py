"""Swins from folders, and those that are refused with a sentence."""

import pytest
import torch
from timm.models import SwinTransformerV2

from core.errors import InputError
from core.models import load
from core.models.vision.model import VisionModel
from tests.core.models.vision.tiny_swin import noise, saved, swin


def test_a_folder_loads_by_name_and_labels_its_picture(tmp_path):
    model = load(str(saved(tmp_path / "animals")), device="cpu")
    found = model.run(noise())
    with torch.inference_mode():
        logits = swin()(found.prepared.tensors["pixels"])
    best = logits[0].softmax(dim=-1).topk(5)
    (labels,) = found.output.predictions
    names = ("cat", "dog", "owl", "elk", "bee")
    assert [guess.label for guess in labels] == [names[index] for index in best.indices]
    assert [guess.probability for guess in labels] == pytest.approx(best.values.tolist(), abs=1e-5)
    assert found.prepared.notes == ()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"window_size": 5}, r"stage 1 of 'swin' has 8 x 12 patches in windows of 5 x 5"),
        ({"img_size": (12, 20), "window_size": 1}, None),
        ({"img_size": (10, 12), "window_size": 1}, "stage 2 of 'swin' would join 5 x 6 patches"),
    ],
)
def test_a_swin_that_looks_at_padding_is_refused(changed, message):
    if message is None:
        assert len(VisionModel(swin(**changed), "swin").stages) == 2
        return
    with pytest.raises(InputError, match=message):
        VisionModel(swin(**changed), "swin")


def test_a_swin_takes_pictures_of_one_size_only():
    with pytest.raises(InputError, match="pictures of one size only"):
        VisionModel(swin(dynamic_img_size=True), "swin", long_side=48)


def test_the_second_version_computes_by_hand_and_is_refused():
    module = SwinTransformerV2(
        img_size=32, patch_size=4, window_size=4, embed_dim=12, depths=(1, 1), num_heads=(2, 3)
    )
    with pytest.raises(InputError, match="'two' is a SwinTransformerV2, .* first version"):
        VisionModel(module, "two")
