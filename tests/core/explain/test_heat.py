import numpy as np
import pytest
import torch
import torch.nn.functional as F

from core.errors import InputError
from core.explain.heat import (
    relevance_difference,
    relevance_map,
    similarity_difference,
    similarity_map,
)
from core.explain.relevance import image_relevance
from tests.core.explain.tiny_clip import VISION, direction, pictures, tiny_clip


def test_relevance_lies_at_the_patch_that_it_belongs_to():
    model = tiny_clip()
    prepared = model.image.prepare(pictures())
    heat = relevance_map(model, prepared, direction(), item=1)
    positions = image_relevance(model, prepared, direction(), item=1).positions
    assert heat.shape == prepared.geometry.grid == (2, 3)
    for row, column in np.ndindex(heat.shape):
        assert heat[row, column] == positions[prepared.geometry.token(row, column)]


def test_relevance_of_a_pool_leaves_out_the_mean_among_its_keys():
    model = tiny_clip("attention pool of a ResNet")
    prepared = model.image.prepare(pictures())
    heat = relevance_map(model, prepared, direction())
    positions = image_relevance(model, prepared, direction()).positions
    np.testing.assert_array_equal(heat.ravel(), positions[1:])


@pytest.mark.parametrize("kind", VISION)
def test_similarity_is_the_cosine_of_each_projected_patch(kind):
    model = tiny_clip(kind)
    prepared = model.image.prepare(pictures())
    heat = similarity_map(model, prepared, direction(), item=1)
    with torch.inference_mode():
        patches = model.image.patch_embeddings(prepared)[1]
    expected = F.cosine_similarity(patches, direction(), dim=-1)
    np.testing.assert_allclose(heat, expected, atol=1e-5)


def test_a_mechanism_changes_both_maps():
    model = tiny_clip()
    prepared = model.image.prepare(pictures())
    for heat in (similarity_map, relevance_map):
        own, linear = (heat(model, prepared, direction(), name) for name in (None, "linear"))
        standard = heat(model, prepared, direction(), "standard")
        np.testing.assert_allclose(standard, own, atol=1e-5)
        assert not np.allclose(linear, own, rtol=1e-2)


@pytest.mark.parametrize(
    ("of_two", "of_one"),
    [(similarity_difference, similarity_map), (relevance_difference, relevance_map)],
)
def test_a_difference_is_the_first_less_the_second(of_two, of_one):
    model = tiny_clip()
    prepared = model.image.prepare(pictures())
    first, second = direction(), direction().flip(0)
    found = of_two(model, prepared, (first, second), item=1)
    expected = [of_one(model, prepared, one, item=1) for one in (first, second)]
    np.testing.assert_allclose(found, expected[0] - expected[1], atol=1e-6)
    assert not of_two(model, prepared, (first, first)).any()


def test_a_tower_without_attention_has_similarity_and_no_relevance():
    model = tiny_clip("no attention")
    prepared = model.image.prepare(pictures())
    assert similarity_map(model, prepared, direction()).ndim == 2
    with pytest.raises(InputError, match="Attention over one grid"):
        relevance_map(model, prepared, direction())


def test_a_picture_alone_and_in_a_batch_get_the_same():
    model = tiny_clip()
    for heat in (similarity_map, relevance_map):
        alone = heat(model, model.image.prepare(pictures()[1]), direction())
        among = heat(model, model.image.prepare(pictures()), direction(), item=1)
        np.testing.assert_allclose(alone, among, rtol=1e-4, atol=1e-6)
