"""SimpleCLIP and its loss against open_clip's, and a scale that is really learned."""

import math

import pytest
import torch
from open_clip.loss import ClipLoss
from open_clip.model import CLIP, CLIPTextCfg, CLIPVisionCfg
from torch import nn

from core.layers import SimpleCLIP, contrastive_loss

PAIRS = 5


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def toy() -> SimpleCLIP:
    return SimpleCLIP(nn.Linear(11, 7), nn.Embedding(13, 3), image_dim=7, text_dim=3, dim=5)


def pairs():
    return torch.randn(PAIRS, 11), torch.arange(PAIRS)


class TextTower(nn.Module):
    """The text side of an open_clip model, up to its projection."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, texts):
        return self.model.encode_text(texts)


def test_first_logits_equal_open_clip():
    vision = CLIPVisionCfg(layers=2, width=12, head_width=4, patch_size=4, image_size=12)
    text = CLIPTextCfg(context_length=7, vocab_size=29, width=10, heads=2, layers=2)
    theirs = CLIP(8, vision, text).eval()
    images, texts = torch.randn(3, 3, 12, 12), torch.randint(0, 29, (5, 7))
    with torch.no_grad():
        expected, _ = theirs.get_logits(images, texts)
    image_projection, text_projection = theirs.visual.proj, theirs.text_projection
    theirs.visual.proj = theirs.text_projection = None
    ours = SimpleCLIP(theirs.visual, TextTower(theirs), image_dim=12, text_dim=10, dim=8).eval()
    ours.image_projection.load_state_dict({"weight": image_projection.T})
    ours.text_projection.load_state_dict({"weight": text_projection.T})
    with torch.no_grad():
        torch.testing.assert_close(ours(images, texts), expected, atol=1e-5, rtol=0)


def test_vectors_have_length_one_and_logits_are_scaled_cosines():
    model = toy()
    images, texts = pairs()
    ours, theirs = model.encode_image(images), model.encode_text(texts)
    torch.testing.assert_close(ours.norm(dim=-1), torch.ones(PAIRS))
    torch.testing.assert_close(theirs.norm(dim=-1), torch.ones(PAIRS))
    cosines = torch.cosine_similarity(ours[:, None], theirs[None], dim=-1)
    torch.testing.assert_close(model(images, texts), cosines / 0.07)


def test_the_loss_equals_open_clip():
    image, text = (nn.functional.normalize(torch.randn(PAIRS, 7), dim=-1) for _ in range(2))
    expected = ClipLoss()(image, text, torch.tensor(20.0))
    torch.testing.assert_close(contrastive_loss(20 * image @ text.T), expected)


def test_labels_that_all_differ_change_nothing():
    logits, labels = torch.randn(PAIRS, PAIRS), torch.tensor([4, 0, 9, 2, 7])
    torch.testing.assert_close(contrastive_loss(logits, labels), contrastive_loss(logits))


def test_pairs_of_one_name_share_the_probability():
    logits = torch.tensor([[0.0, 1.0, 2.0], [3.0, 4.0, 5.0], [6.0, 7.0, 8.5]])
    by_row, by_column = logits.log_softmax(dim=1), logits.log_softmax(dim=0)
    right = [(0, 0, 1.0), (1, 1, 0.5), (1, 2, 0.5), (2, 1, 0.5), (2, 2, 0.5)]
    expected = -sum(w * (by_row[i, j] + by_column[i, j]) for i, j, w in right) / 3 / 2
    loss = contrastive_loss(logits, torch.tensor([7, 4, 4]))
    torch.testing.assert_close(loss, expected)


def test_several_captions_a_picture_make_a_rectangle():
    logits = torch.randn(2, 3)
    loss = contrastive_loss(logits, torch.tensor([0, 1]), torch.tensor([0, 1, 1]))
    by_row, by_column = logits.log_softmax(dim=1), logits.log_softmax(dim=0)
    to_text = -(by_row[0, 0] + (by_row[1, 1] + by_row[1, 2]) / 2) / 2
    to_image = -(by_column[0, 0] + by_column[1, 1] + by_column[1, 2]) / 3
    torch.testing.assert_close(loss, (to_text + to_image) / 2)


def test_logits_that_are_no_pairs_and_labels_without_partner_are_refused():
    with pytest.raises(ValueError, match=r"shape \(2, 3\), 2 and 2 labels came"):
        contrastive_loss(torch.zeros(2, 3))
    with pytest.raises(ValueError, match="without a text of its label"):
        contrastive_loss(torch.zeros(2, 2), torch.tensor([0, 1]), torch.tensor([0, 0]))


def test_the_temperature_is_learned():
    model = toy()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert model.scale().item() == pytest.approx(1 / 0.07)
    contrastive_loss(model(*pairs())).backward()
    assert model.logit_scale.grad.abs() > 0
    expected = math.log(1 / 0.07) - 0.1 * model.logit_scale.grad.item()
    optimizer.step()
    assert model.logit_scale.item() == pytest.approx(expected)
    assert model.scale().item() == pytest.approx(math.exp(expected))


def test_the_scale_never_passes_its_limit_and_comes_back_from_it():
    model = toy()
    optimizer = torch.optim.SGD([model.logit_scale], lr=0.5)
    for _ in range(20):
        optimizer.zero_grad()
        (-model.scale().log()).backward()
        optimizer.step()
        assert model.scale() <= 100 * (1 + 1e-6)
        assert model.eval().scale() <= 100 * (1 + 1e-6)
        model.train()
    assert model.scale().item() == pytest.approx(100)
    optimizer.zero_grad()
    model.scale().backward()
    optimizer.step()
    assert model.train().scale() < 100


def test_two_forwards_before_one_backward_go_well():
    model = toy()
    with torch.no_grad():
        model.logit_scale.fill_(9.0)
    (contrastive_loss(model(*pairs())) + contrastive_loss(model(*pairs()))).backward()
    assert model.logit_scale.grad.isfinite()


def test_training_brings_pairs_together():
    model, (images, texts) = toy(), pairs()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    before = contrastive_loss(model(images, texts)).item()
    for _ in range(60):
        optimizer.zero_grad()
        contrastive_loss(model(images, texts)).backward()
        optimizer.step()
    logits = model.eval()(images, texts)
    assert logits.argmax(dim=1).tolist() == list(range(PAIRS))
    assert contrastive_loss(logits).item() < 0.3 * before
