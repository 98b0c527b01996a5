"""The towers of open_clip, against the published algorithm on dense maps of the same modules."""

import numpy as np
import pytest

from core import maps
from core.errors import InputError
from core.explain.reader import token_attention
from core.explain.relevance import image_relevance, text_relevance
from tests.core.explain.dense import linear_weights, published, same
from tests.core.explain.tiny_clip import VISION, direction, pictures, tiny_clip

WITH_ATTENTION = [kind for kind in VISION if kind != "no attention"]
TEXTS = ["dog", "two red birds on a wire"]


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_pictures_equal_the_published_algorithm(kind, monkeypatch):
    model = tiny_clip(kind)
    prepared = model.image.prepare(pictures())
    expected = published(model.image, prepared, direction(), monkeypatch, item=1)
    same(image_relevance(model, prepared, direction(), item=1), expected)


@pytest.mark.parametrize("kind", WITH_ATTENTION)
def test_pictures_equal_it_for_linear_attention(kind, monkeypatch):
    model = tiny_clip(kind)
    prepared = model.image.prepare(pictures())
    expected = published(model.image, prepared, direction(), monkeypatch, weights=linear_weights)
    same(image_relevance(model, prepared, direction(), "linear"), expected)


@pytest.mark.parametrize("item", [0, 1])
def test_texts_equal_the_published_algorithm(item, monkeypatch):
    model = tiny_clip()
    prepared = model.text.prepare(TEXTS)
    expected = published(model.text, prepared, direction(), monkeypatch, item=item)
    found = text_relevance(model, prepared, direction(), item=item)
    same(found, expected)
    assert len(found.positions) == len(TEXTS[item].split()) + 2  # start and end; no padding


def test_a_text_alone_and_in_a_batch_get_the_same():
    model = tiny_clip()
    alone = text_relevance(model, model.text.prepare(TEXTS[0]), direction())
    among = text_relevance(model, model.text.prepare(TEXTS), direction(), item=0)
    np.testing.assert_allclose(alone.positions, among.positions, rtol=1e-5)


def test_a_tower_without_attention_is_told_in_a_sentence():
    model = tiny_clip("no attention")
    with pytest.raises(InputError, match=r"^Attention over one grid .*'tiny CLIP, no attention'"):
        image_relevance(model, model.image.prepare(pictures()), direction())


def test_nothing_sticks_to_the_model():
    model = tiny_clip()
    image_relevance(model, model.image.prepare(pictures()), direction())
    text_relevance(model, model.text.prepare(TEXTS), direction())
    assert all(parameter.grad is None for parameter in model.module.parameters())
    assert not any(parameter.requires_grad for parameter in model.module.parameters())


def test_token_attention_is_the_row_of_the_end_of_the_text():
    model = tiny_clip()
    run = model.text.run(TEXTS)
    found = token_attention(model.text, run, item=1)
    end = len(TEXTS[1].split()) + 1
    rows = maps.rows(run.trace.calls, end, batch=1)
    np.testing.assert_allclose(found, rows[..., : end + 1], atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=-1), 1, rtol=1e-5)


def test_token_attention_of_a_mean_is_the_mean_of_the_patches_rows():
    model = tiny_clip("mean of the patches")
    run = model.image.run(pictures())
    whole = np.stack([[maps.head_map(c, h, 1) for h in range(c.heads)] for c in run.trace.calls])
    found = token_attention(model.image, run, item=1)
    np.testing.assert_allclose(found, whole[:, :, 1:].mean(axis=2), atol=1e-6)


def test_token_attention_of_a_pool_is_the_pools_row():
    model = tiny_clip("attention pool of a timm tower")
    run = model.image.run(pictures(), "linear")
    found = token_attention(model.image, run)
    np.testing.assert_allclose(found, maps.rows(run.trace.calls[-1:], 0), atol=1e-6)
