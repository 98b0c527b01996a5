"""Scores: cosine and probability apart, by the model's own scale, as open_clip has them."""

import numpy as np
import open_clip
import pytest
import torch

from core.errors import InputError
from core.zero_shot.encodings import Encodings
from core.zero_shot.labels.templates import TEMPLATES
from core.zero_shot.scores import label_vectors, score
from tests.core.zero_shot import small

LABELS = ("cat", "dogs {wild}", "sea, at night", "café")


def with_cosines(*cosines):
    """One picture, and labels at these cosines to it."""
    labels = torch.tensor([[cosine, (1 - cosine**2) ** 0.5] for cosine in cosines])
    return torch.tensor([[1.0, 0.0]]), labels[None]


def named(count):
    return {"labels": [f"label {index}" for index in range(count)], "templates": ("{}",)}


def scored(model, mechanism=None, templates=TEMPLATES["the 7 best"]):
    encodings = Encodings()
    given = [(picture.name, picture) for picture in small.pictures(5)]
    seen = encodings.pictures(model, given, mechanism)
    read = encodings.labels(model, LABELS, templates, mechanism)
    about = {"labels": LABELS, "templates": templates}
    return score(seen, read, **about, scale=model.scale, bias=model.bias, sigmoid=model.sigmoid)


def pixels(model):
    return model.image.pixels(small.pictures(5))


def test_c2_cosines_30_22_20_at_scale_100_are_probabilities_9996_34e5_45e6():
    scale = float(torch.tensor(np.log(100)).exp())
    scores = score(*with_cosines(0.30, 0.22, 0.20), **named(3), scale=scale)
    np.testing.assert_allclose(scores.cosine, [[0.30, 0.22, 0.20]], atol=1e-6)
    np.testing.assert_allclose(scores.probability, [[0.9996, 3.4e-4, 4.5e-5]], rtol=0.02)
    assert scores.scale == pytest.approx(100)
    np.testing.assert_allclose(scores.margin.cosine, [0.08], atol=1e-6)
    np.testing.assert_allclose(scores.margin.probability, [0.9996 - 3.4e-4], atol=1e-4)


def test_c2_siglip_is_the_sigmoid_of_scale_times_cosine_plus_bias():
    scores = score(*with_cosines(0.30, 0.22), **named(2), scale=50.0, bias=-12.0, sigmoid=True)
    by_hand = [[1 / (1 + np.exp(-3)), 1 / (1 + np.exp(1))]]
    np.testing.assert_allclose(scores.probability, by_hand, rtol=1e-5)


def test_c3_one_label_has_a_cosine_and_a_sentence_but_no_probability():
    scores = score(*with_cosines(0.30), **named(1), scale=100.0)
    np.testing.assert_allclose(scores.cosine, [[0.30]], atol=1e-6)
    assert scores.probability is None
    assert scores.margin is None
    assert scores.note == "Two or more labels are needed for a probability."


def test_c3_one_label_of_a_sigmoid_model_has_its_probability():
    scores = score(*with_cosines(0.30), **named(1), scale=50.0, bias=-12.0, sigmoid=True)
    np.testing.assert_allclose(scores.probability, [[1 / (1 + np.exp(-3))]], rtol=1e-5)
    assert scores.note == ""


def test_c5_templates_10_0_and_0_1_average_to_7071_7071():
    vectors = label_vectors(torch.tensor([[[10.0, 0.0]], [[0.0, 1.0]]]))
    torch.testing.assert_close(vectors, torch.full((1, 2), 0.7071), atol=1e-4, rtol=0)


def test_templates_that_agree_have_no_spread_and_others_their_standard_deviation():
    picture = torch.tensor([[1.0, 0.0]])
    per_template = torch.tensor([[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.8, 0.6]]])
    scores = score(picture, per_template, labels=("a", "b"), templates=("{}", "x {}"), scale=1.0)
    np.testing.assert_allclose(scores.by_template[:, 0], [[1.0, 0.6], [1.0, 0.8]], rtol=1e-6)
    np.testing.assert_allclose(scores.spread, [[0.0, 0.1]], atol=1e-6)


def test_labels_come_best_first_and_no_more_than_there_are():
    scores = score(*with_cosines(0.2, 0.9, 0.5), **named(3), scale=1.0)
    assert scores.best(2).tolist() == [[1, 2]]
    assert scores.best(7).tolist() == [[1, 2, 0]]


@pytest.mark.parametrize("mechanism", [None, "standard"])
def test_equals_the_zero_shot_classifier_of_open_clip(mechanism):
    model = small.clip()
    templates = open_clip.SIMPLE_IMAGENET_TEMPLATES
    classifier = open_clip.build_zero_shot_classifier(
        model.module, open_clip.SimpleTokenizer(), LABELS, templates, num_classes_per_batch=3
    )
    with torch.inference_mode():
        seen = model.module.encode_image(pixels(model), normalize=True)
        logits = model.module.logit_scale.exp() * seen @ classifier
    scores = scored(model, mechanism)
    np.testing.assert_allclose(scores.cosine, (seen @ classifier).numpy(), atol=1e-5)
    np.testing.assert_allclose(scores.probability, logits.softmax(dim=-1).numpy(), atol=1e-4)


@pytest.mark.parametrize("make", [small.clip, small.siglip])
def test_equals_the_logits_of_open_clip(make):
    model = make()
    with torch.inference_mode():
        ids = open_clip.SimpleTokenizer()(list(LABELS))
        logits, _ = model.module.get_logits(pixels(model), ids)
    scores = scored(model, templates=TEMPLATES["none"])
    expected = logits.sigmoid() if model.sigmoid else logits.softmax(dim=-1)
    ours = scores.scale * scores.cosine + (scores.bias or 0.0)
    np.testing.assert_allclose(ours, logits.numpy(), atol=1e-4)
    np.testing.assert_allclose(scores.probability, expected.numpy(), atol=1e-4)


def test_no_picture_and_no_label_are_refused():
    picture, label = with_cosines(0.3)
    with pytest.raises(InputError, match="At least one picture was wanted; none came"):
        score(picture[:0], label, **named(1), scale=1.0)
    with pytest.raises(InputError, match="At least one label was wanted; none came"):
        score(picture, label[:, :0], **named(0), scale=1.0)


def test_a_cosine_is_never_above_1_whatever_rounding_does():
    vectors = torch.randn(509, 211, generator=torch.Generator().manual_seed(0))
    scores = score(
        vectors, vectors[None], labels=[str(n) for n in range(509)], templates=["{}"], scale=1.0
    )
    assert scores.cosine.max() <= 1
    assert scores.by_template.max() <= 1
    assert scores.cosine.diagonal() == pytest.approx(1.0)
