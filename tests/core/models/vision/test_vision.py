"""Vision transformers: tokens laid out as their own model says, preprocessing as timm does it."""

import numpy as np
import pytest
import torch
from PIL import Image
from timm.data import ImageNetInfo
from timm.data.transforms_factory import transforms_imagenet_eval
from timm.models import Beit, Eva, VisionTransformer, VisionTransformerRelPos
from timm.models.deit import VisionTransformerDistilled

from core import maps
from core.errors import InputError
from core.models.vision.images import Picture, sample_picture
from core.models.vision.model import VisionModel, load_focus_vit
from core.models.vision.preprocess import preprocessing

TINY = {"embed_dim": 24, "depth": 3, "num_heads": 2, "num_classes": 0}


def tiny(kind=VisionTransformer, **changed):
    torch.manual_seed(0)
    return kind(**({"img_size": 32, "patch_size": 8} | TINY | changed))


def picture(height, width, name="noise"):
    noise = np.random.default_rng(0).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return Picture(Image.fromarray(noise), name)


def labels(positions):
    return [position.label for position in positions]


def test_v1_a_wide_picture_runs_on_a_wide_grid():
    model = VisionModel(tiny(dynamic_img_size=True), "tiny", long_side=48)
    run = model.run(picture(32, 48))
    (group,) = run.prepared.groups
    assert run.prepared.geometry.grid == (4, 6)
    assert run.prepared.notes == ()
    assert run.output.hidden.shape == (1, 25, 24)
    assert labels(group.keys[0])[12] == "patch 1,5"
    assert group.calls == (0, 1, 2)
    assert [call.query.shape for call in run.trace.calls] == [(1, 2, 25, 12)] * 3


def test_v1_what_was_resized_and_what_was_cut_is_said():
    whole = VisionModel(tiny(dynamic_img_size=True), "tiny", long_side=45)
    assert whole.prepare(picture(30, 45)).notes == (
        "'noise' was resized from 30 x 45 to 32 x 48 pixels (height x width), "
        "a whole number of patches.",
    )
    cropped = VisionModel(tiny(), "tiny").prepare(picture(30, 45))
    assert len(cropped.notes) == 2
    assert "of 'noise', its middle; the rest was cut off" in cropped.notes[1]


@pytest.mark.parametrize(
    ("module", "shape", "long_side", "prefix", "tokens"),
    [
        (
            {"patch_size": 14, "img_size": 28, "reg_tokens": 4, "dynamic_img_size": True},
            (28, 42),
            42,
            ["CLS", "register 1", "register 2", "register 3", "register 4"],
            11,
        ),
        ({"kind": VisionTransformerDistilled}, (32, 32), None, ["CLS", "DIST"], 18),
        (
            {"img_size": 224, "patch_size": 16, "class_token": False, "global_pool": "map"},
            (224, 224),
            None,
            [],
            196,
        ),
        (
            {"kind": Eva, "num_reg_tokens": 2},
            (32, 32),
            None,
            ["CLS", "register 1", "register 2"],
            19,
        ),
        ({"kind": Beit, "use_rel_pos_bias": True}, (32, 32), None, ["CLS"], 17),
        ({"kind": VisionTransformerRelPos}, (32, 32), None, [], 16),
    ],
    ids=["DINOv2 with registers", "DeiT distilled", "SigLIP", "EVA", "BEiT", "relative positions"],
)
def test_v2_prefix_tokens_are_named_and_every_position_is_a_row_of_the_maps(
    module, shape, long_side, prefix, tokens
):
    run = VisionModel(tiny(**module), "tiny", long_side=long_side).run(picture(*shape))
    group = run.prepared.groups[0]
    specials = [position.label for position in group.keys[0] if position.special]
    assert specials == prefix
    assert len(group.keys[0]) == tokens == run.output.hidden.shape[1]
    for index in group.calls:
        call = run.trace.calls[index]
        assert call.query.shape[2] == call.key.shape[2] == tokens


def test_a_pooling_head_is_a_group_of_its_own():
    module = tiny(class_token=False, global_pool="map")
    run = VisionModel(module, "tiny").run(picture(32, 32))
    pooling = run.prepared.groups[1]
    assert pooling.calls == (3,)
    assert labels(pooling.queries[0]) == ["pool 0"]
    assert len(pooling.keys[0]) == run.trace.calls[3].key.shape[2] == 16
    torch.testing.assert_close(run.output.embedding, module.attn_pool(run.output.hidden))


def test_the_maps_are_those_that_timm_computes_by_hand():
    module = tiny(dynamic_img_size=True)
    run = VisionModel(module, "tiny", long_side=48).run(picture(32, 48))
    wanted = []
    for block in module.blocks:
        block.attn.fused_attn = False
        block.attn.attn_drop.register_forward_pre_hook(lambda _, given: wanted.append(given[0]))
    with torch.inference_mode():
        module(run.prepared.tensors["pixels"])
    for call, softmax in zip(run.trace.calls, wanted, strict=True):
        for head in range(2):
            found = maps.head_map(call, head)
            torch.testing.assert_close(found, softmax[0, head], atol=1e-5, rtol=0)


@pytest.mark.parametrize("crop_mode", ["center", "squash"])
@pytest.mark.parametrize("crop_pct", [0.875, 0.9, 1.0])
@pytest.mark.parametrize("size", [(32, 32), (32, 48)])
@pytest.mark.parametrize("shape", [(47, 83), (101, 43), (32, 32), (5, 7)])
def test_preprocessing_is_timms_own(crop_mode, crop_pct, size, shape):
    module = tiny(img_size=size)
    config = {"crop_pct": crop_pct, "crop_mode": crop_mode, "interpolation": "bicubic"}
    module.pretrained_cfg = config | {"mean": (0.5, 0.4, 0.3), "std": (0.2, 0.3, 0.4)}
    given = picture(*shape)
    wanted = transforms_imagenet_eval(size, mean=(0.5, 0.4, 0.3), std=(0.2, 0.3, 0.4), **config)
    found, geometry, _ = preprocessing(module, None)(given)
    torch.testing.assert_close(found, wanted(given.pixels))
    assert geometry.grid == (size[0] // 8, size[1] // 8)


def test_an_imagenet_head_shows_its_five_likeliest_labels():
    module = tiny(num_classes=1000)
    module.pretrained_cfg = {"tag": "augreg_in21k_ft_in1k", "num_classes": 1000}
    run = VisionModel(module, "tiny").run(picture(32, 32))
    with torch.inference_mode():
        wanted = module(run.prepared.tensors["pixels"]).softmax(dim=-1)[0].topk(5)
    names = ImageNetInfo("imagenet-1k")
    (found,) = run.output.predictions
    assert [guess.label for guess in found] == [
        names.index_to_description(index) for index in wanted.indices.tolist()
    ]
    assert [guess.probability for guess in found] == pytest.approx(wanted.values.tolist())


@pytest.mark.parametrize("config", [{}, {"tag": "flowers"}])
def test_a_thousand_classes_that_nobody_calls_imagenet_get_no_labels(config):
    module = tiny(num_classes=1000)
    module.pretrained_cfg = config
    assert VisionModel(module, "tiny").run(picture(32, 32)).output.predictions == ()


def test_a_distilled_head_predicts_with_both_tokens():
    module = tiny(VisionTransformerDistilled, num_classes=3)
    module.pretrained_cfg = {"label_names": ["cat", "dog", "cup"]}
    run = VisionModel(module, "tiny").run(picture(32, 32))
    with torch.inference_mode():
        wanted = module(run.prepared.tensors["pixels"]).softmax(dim=-1)[0]
    found = {guess.label: guess.probability for guess in run.output.predictions[0]}
    assert [found[name] for name in ("cat", "dog", "cup")] == pytest.approx(wanted.tolist())


@pytest.mark.parametrize(
    ("changed", "pool"),
    [
        ({}, lambda hidden: hidden[:, 0]),
        ({"class_token": False, "global_pool": ""}, lambda hidden: hidden.mean(dim=1)),
        ({"global_pool": "avg", "fc_norm": False}, lambda hidden: hidden[:, 1:].mean(dim=1)),
    ],
)
def test_the_embedding_is_the_models_own_summary(changed, pool):
    output = VisionModel(tiny(**changed), "tiny").run(picture(32, 32)).output
    torch.testing.assert_close(output.embedding, pool(output.hidden))


def test_several_pictures_make_one_batch():
    model = VisionModel(tiny(), "tiny")
    alike = model.run([picture(40, 50), picture(40, 50)])
    assert alike.output.hidden.shape == (2, 17, 24)
    assert len(alike.prepared.groups[0].keys) == 2
    assert alike.prepared.geometry.original == (40, 50)
    assert model.prepare([picture(40, 50), picture(50, 40)]).geometry is None


def test_pictures_that_fit_no_batch_are_refused():
    model = VisionModel(tiny(dynamic_img_size=True), "tiny")
    with pytest.raises(InputError, match=r"2 x 4 and 4 x 2 patches came"):
        model.prepare([picture(20, 40), picture(40, 20)])
    with pytest.raises(InputError, match="none came"):
        model.prepare([])


def test_notes_of_the_file_come_first():
    given = Picture(Image.new("RGB", (45, 30)), "a.gif", ("'a.gif' holds several frames.",))
    notes = VisionModel(tiny(), "tiny").prepare(given).notes
    assert notes[0] == "'a.gif' holds several frames."
    assert len(notes) == 3


def test_half_precision_runs():
    model = VisionModel(tiny(), "tiny", dtype=torch.bfloat16)
    assert model.run(picture(32, 32)).output.hidden.dtype == torch.bfloat16


def test_another_size_for_a_model_of_one_size_is_refused():
    with pytest.raises(InputError, match="'tiny' takes pictures of one size only"):
        VisionModel(tiny(), "tiny", long_side=48)


def test_a_mechanism_runs_inside_the_model():
    model = VisionModel(tiny(), "tiny")
    own, routed = (model.run(picture(32, 32), name) for name in (None, "standard"))
    torch.testing.assert_close(routed.output.hidden, own.output.hidden, atol=1e-5, rtol=1e-5)


def test_focus_vit_keeps_the_aspect_of_a_photograph(fetched):
    fetched("focus-vit")
    model = load_focus_vit(long_side=266)
    run = model.run(sample_picture("coffee"))
    assert run.prepared.geometry.grid == (13, 19)
    assert len(run.trace.calls) == 12
    assert run.output.predictions == ()
    torch.testing.assert_close(run.output.embedding, run.output.hidden[:, 0])
