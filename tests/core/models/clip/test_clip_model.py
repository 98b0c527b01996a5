"""CLIP models: the numbers of open_clip itself, and what its two towers show."""

import math

import pytest
import torch
import torch.nn.functional as F
from open_clip.transform import image_transform_v2

from core import maps
from core.errors import InputError
from core.models.clip import ClipModel, Reader
from tests.core.attention.runnable import RUNNABLE
from tests.core.models.clip import tiny
from tests.core.models.clip.tiny import CONTEXT, TEXTS, WIDTH, pictures

KINDS = ["ViT", "ResNet", "SigLIP", "CustomText", "convolutions"]
ATTENDING = KINDS[:-1]


@pytest.fixture(params=KINDS)
def model(request, models):
    return models[request.param]


@pytest.fixture(params=ATTENDING)
def attending(request, models):
    return models[request.param]


def open_clips_own(model):
    """Pixels, ids and logits by open_clip alone."""
    transform = image_transform_v2(model.image.preprocess.config, is_train=False)
    pixels = torch.stack([transform(picture.pixels) for picture in pictures()])
    ids = model.text.reading.tokenizer(TEXTS)
    with torch.inference_mode():
        images, texts = (
            model.module.encode_image(pixels, normalize=True),
            model.module.encode_text(ids, normalize=True),
        )
        logits, _ = model.module.get_logits(pixels, ids)
    return images, texts, logits


def test_embeddings_and_logits_equal_open_clips_own(model):
    images, texts, logits = open_clips_own(model)
    ours, read = model.encode_pictures(pictures()), model.encode_texts(TEXTS)
    torch.testing.assert_close(ours, images, atol=1e-5, rtol=0)
    torch.testing.assert_close(read, texts, atol=1e-5, rtol=0)
    scored = model.scale * ours @ read.T + (model.bias or 0.0)
    torch.testing.assert_close(scored, logits, atol=1e-4, rtol=0)


def test_batches_and_progress_change_nothing(model):
    told = []
    few = model.encode_pictures(pictures(), batch=2, on_share=told.append)
    torch.testing.assert_close(few, model.encode_pictures(pictures()), atol=1e-6, rtol=0)
    assert told == [2 / 3, 1.0]
    few = model.encode_texts(TEXTS, batch=1, on_share=told.append)
    torch.testing.assert_close(few, model.encode_texts(TEXTS), atol=1e-6, rtol=0)
    assert told[2:] == [1 / 3, 2 / 3, 1.0]
    torch.testing.assert_close(few.norm(dim=-1), torch.ones(3))


def test_nothing_given_is_no_row(models):
    assert models["ViT"].encode_pictures([]).shape == (0, WIDTH)
    assert models["ViT"].encode_texts([]).shape == (0, WIDTH)


def test_a_run_gives_the_same_embeddings_as_embed_and_open_clip(attending):
    images, texts, _ = open_clips_own(attending)
    run = attending.image.run(pictures())
    torch.testing.assert_close(F.normalize(run.output.embedding, dim=-1), images)
    torch.testing.assert_close(attending.image.embed(run.prepared), run.output.embedding)
    run = attending.text.run(TEXTS)
    torch.testing.assert_close(F.normalize(run.output.embedding, dim=-1), texts)
    torch.testing.assert_close(attending.text.embed(run.prepared), run.output.embedding)
    assert "open_clip_torch" in run.versions


def test_embed_lets_gradients_through(model):
    prepared = model.image.prepare(pictures())
    prepared.tensors["pixels"].requires_grad_(True)
    model.image.embed(prepared).sum().backward()
    assert prepared.tensors["pixels"].grad.abs().sum() > 0


def shapes(run):
    return [
        (group.name, len(group.calls), len(group.queries[0]), len(group.keys[0]))
        for group in run.prepared.groups
    ]


def test_groups_are_the_calls_that_ran(models):
    assert shapes(models["ViT"].image.run(pictures())) == [("self-attention", 3, 17, 17)]
    assert shapes(models["ResNet"].image.run(pictures())) == [("attention pool", 1, 5, 5)]
    assert shapes(models["SigLIP"].image.run(pictures())) == [
        ("self-attention", 9, 101, 101), ("attention pool", 1, 1, 101),
    ]  # fmt: skip
    # A text is as long as it is, unless its tower looks at what fills it up.
    assert shapes(models["ViT"].text.run(TEXTS)) == [("self-attention", 2, 4, 4)]
    assert shapes(models["CustomText"].text.run(TEXTS)) == [("self-attention", 2, 4, 4)]
    assert shapes(models["SigLIP"].text.run(TEXTS)) == [("self-attention", 2, CONTEXT, CONTEXT)]


def test_positions_are_named(models):
    of = {kind: models[kind].image.prepare(pictures()).groups for kind in ATTENDING}
    labels = [position.label for position in of["ViT"][0].keys[0]]
    assert labels[:3] == ["CLS", "patch 0,0", "patch 0,1"]
    assert labels[-1] == "patch 3,3"
    pool = of["ResNet"][0]
    assert [position.label for position in pool.keys[1]] == [
        "mean", "patch 0,0", "patch 0,1", "patch 1,0", "patch 1,1",
    ]  # fmt: skip
    assert pool.queries[0][0].label == "pool query"
    assert [position.label for position in of["SigLIP"][0].keys[0]][:2] == [
        "register 1", "patch 0,0",
    ]  # fmt: skip
    assert [position.label for position in of["SigLIP"][1].queries[2]] == ["pool query"]


def test_where_the_embedding_is_read_is_told(models):
    image = {kind: model.image.reader(model.image.prepare(pictures())) for kind, model in
             models.items()}  # fmt: skip
    assert image["ViT"] == image["CustomText"] == Reader("token", 0)
    assert image["ResNet"] == image["SigLIP"] == Reader("query", 0)
    assert image["convolutions"] == Reader("mean", 0)
    read = {
        kind: [model.text.reader(model.text.prepare(TEXTS), item).index for item in (0, 1)]
        for kind, model in models.items()
    }
    assert read["ViT"] == [3, 6]  # start, words, end
    assert read["SigLIP"] == [CONTEXT - 1] * 2
    assert models["CustomText"].text.reader(models["CustomText"].text.prepare(TEXTS)).kind == "mean"


def eager(block, hidden, mask=None):
    """Weights of nn.MultiheadAttention itself, outside of any capture, and the block's output."""
    normed = block.ln_1(hidden)
    wanted = {"need_weights": True, "average_attn_weights": False, "attn_mask": mask}
    with torch.inference_mode():
        return block.attn(normed, normed, normed, **wanted)[1], block(hidden, attn_mask=mask)


def test_maps_of_pictures_equal_eager_ones(models):
    module, run = models["ViT"].module, models["ViT"].image.run(pictures())
    hidden = module.visual._embeds(run.prepared.tensors["pixels"])
    for block, call in zip(module.visual.transformer.resblocks, run.trace.calls, strict=True):
        weights, hidden = eager(block, hidden)
        ours = torch.stack([maps.head_map(call, head, 2) for head in range(4)])
        torch.testing.assert_close(ours, weights[2], atol=1e-5, rtol=0)


def test_maps_of_texts_are_causal_and_equal_eager_ones(models):
    module, run = models["ViT"].module, models["ViT"].text.run(TEXTS)
    hidden = module.token_embedding(run.prepared.tensors["input_ids"])
    hidden = hidden + module.positional_embedding
    for block, call in zip(module.transformer.resblocks, run.trace.calls, strict=True):
        weights, hidden = eager(block, hidden, module.attn_mask)
        ours = torch.stack([maps.head_map(call, head, 1) for head in range(5)])
        torch.testing.assert_close(ours, weights[1], atol=1e-5, rtol=0)
        assert (ours.triu(1) == 0).all()


def test_map_of_a_resnets_pool_equals_the_eager_one(models):
    pool, run = models["ResNet"].module.visual.attnpool, models["ResNet"].image.run(pictures())
    features = run.output.hidden
    keys = torch.cat([features.mean(dim=1, keepdim=True), features], dim=1)
    keys = keys + pool.positional_embedding
    query, key = (
        projection(keys).unflatten(-1, (pool.num_heads, -1)).transpose(1, 2)
        for projection in (pool.q_proj, pool.k_proj)
    )
    weights = (query @ key.mT * query.shape[-1] ** -0.5).softmax(dim=-1)
    ours = torch.stack([maps.row(run.trace.calls[0], head, 0, 1) for head in range(16)])
    torch.testing.assert_close(ours, weights[1, :, 0], atol=1e-5, rtol=0)


@pytest.mark.parametrize("mechanism", RUNNABLE)
def test_every_mechanism_routes_both_towers(attending, mechanism):
    run = attending.image.run(pictures(), mechanism)
    assert all(call.kernel.startswith(mechanism) for call in run.trace.calls)
    routed = F.normalize(run.output.embedding, dim=-1)
    torch.testing.assert_close(attending.encode_pictures(pictures(), mechanism), routed)
    run = attending.text.run(TEXTS, mechanism)
    assert all(call.kernel.startswith(mechanism) for call in run.trace.calls)
    routed = F.normalize(run.output.embedding, dim=-1)
    torch.testing.assert_close(attending.encode_texts(TEXTS, mechanism), routed)
    if mechanism in ("linear", "favor"):  # the sparse ones see all of an input as short as this
        assert (routed - attending.encode_texts(TEXTS)).abs().max() > 1e-4


def test_an_unknown_mechanism_is_refused_by_name(models):
    for encode in (models["ViT"].encode_pictures, models["ViT"].encode_texts):
        with pytest.raises(InputError, match="standard, .* was wanted; 'sparse' came"):
            encode([], "sparse")


def test_a_tower_of_convolutions_says_that_it_has_no_maps(models):
    model = models["convolutions"]
    with pytest.raises(InputError, match="image tower of 'tiny' has no attention"):
        model.image.run(pictures())
    prepared = model.image.prepare(pictures())
    assert prepared.groups == ()
    # Each patch on its own still has an embedding; here their mean is not the picture's (a norm
    # lies between), but each is what the head makes of a picture that is this patch everywhere.
    patches = model.image.patch_embeddings(prepared)
    features = model.module.visual.trunk.forward_features(prepared.tensors["pixels"])
    everywhere = features[:1, :, 1:2, 3:4].expand(-1, -1, 5, 5)
    own = model.module.visual.head(model.module.visual.trunk.forward_head(everywhere))
    torch.testing.assert_close(patches[0, 1, 3], own[0])


def test_patches_of_a_vit_go_through_its_norm_and_projection(models):
    model = models["ViT"]
    prepared = model.image.prepare(pictures())
    visual = model.module.visual
    hidden = visual.ln_post(visual.transformer(visual._embeds(prepared.tensors["pixels"])))
    own = (hidden[:, 1:] @ visual.proj).unflatten(1, (4, 4))
    torch.testing.assert_close(model.image.patch_embeddings(prepared), own)


def test_an_attention_pool_adds_up_its_patches(models):
    # What the pool gives is its weights times these, where every head weighs alike.
    model = models["ResNet"]
    prepared = model.image.prepare(pictures())
    pool = model.module.visual.attnpool
    state = {name: weight.clone() for name, weight in pool.state_dict().items()}
    try:
        with torch.no_grad():
            pool.q_proj.weight.zero_()
            pool.q_proj.bias.zero_()
            pool.positional_embedding[0] = pool.positional_embedding[1:].mean(dim=0)
        patches = model.image.patch_embeddings(prepared)
        torch.testing.assert_close(patches.mean(dim=(1, 2)), model.image.embed(prepared))
    finally:
        pool.load_state_dict(state)


def test_scale_and_bias_are_the_models_own_c2():
    module = tiny.vit().module
    with torch.no_grad():
        module.logit_scale.fill_(math.log(100))
    for dtype in (torch.float32, torch.bfloat16):
        model = in_precision(module, dtype)
        assert model.scale == pytest.approx(100, rel=1e-6)
        assert (model.bias, model.sigmoid) == (None, False)
        assert model.encode_texts(TEXTS).dtype == torch.float32


def in_precision(module, dtype):
    config = tiny.PreprocessCfg(size=32)
    return ClipModel(module.float(), tiny.TOKENIZER, "tiny", preprocess=config, dtype=dtype)


def test_siglips_bias_and_sigmoid_are_shown(models):
    facts = models["SigLIP"].facts
    assert (facts.bias, facts.sigmoid) == (-3.0, True)
    assert facts.scale == pytest.approx(math.exp(2.0))
    assert facts.resize == "squashed to size, aspect not kept"
    assert (facts.size, facts.context, facts.width) == ((160, 160), CONTEXT, WIDTH)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_short_numbers_stay_near(dtype):
    exact = tiny.vit()
    images, texts = exact.encode_pictures(pictures()), exact.encode_texts(TEXTS)
    short = in_precision(exact.module, dtype)
    assert (short.encode_pictures(pictures()) - images).abs().max() < 0.05
    assert (short.encode_texts(TEXTS) - texts).abs().max() < 0.05
    assert short.image.run(pictures()).trace.calls[0].query.dtype == dtype
