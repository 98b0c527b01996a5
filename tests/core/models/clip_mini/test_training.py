"""Training on tiny lessons: it learns, pictures of one name help each other, and it resumes."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from core.layers import contrastive_loss
from core.models.clip_mini.training.lessons import PLACES, QUADRANT
from core.models.clip_mini.training.losses import quadrant_means
from core.models.clip_mini.training.training import MOST_SCALE, Plan, share_of_rate, train
from tests.core.models.clip_mini.tiny import CLASSES, CONCEPTS, lessons, student

PLAN = Plan(epochs=5, batch=11, mosaics=5, imagined=3, rate=3e-3, bfloat16=False)


@pytest.fixture(autouse=True)
def one_thread():
    """Lessons this small are learned faster alone: threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def learned(plan, kept, *, stop=None):
    """Train; stop by an exception after so many epochs."""
    pupil, losses = student(plan.seed), []

    def told(epoch, loss):
        losses.append(loss)
        if epoch == stop:
            raise KeyboardInterrupt

    try:
        train(pupil, lessons(), plan, kept, told)
    except KeyboardInterrupt:
        assert stop
    return pupil, losses


def test_the_loss_goes_down(tmp_path):
    _, losses = learned(PLAN, tmp_path / "run.pt")
    assert losses[-1] < 0.8 * losses[0]


def test_what_was_learned_names_other_views_of_the_pictures(tmp_path):
    pupil, _ = learned(PLAN, tmp_path / "run.pt")
    with torch.inference_mode():
        lesson = lessons().of_pictures(range(31), torch.Generator().manual_seed(5))
        tokens = pupil.head.tokens(lesson.features, (7, 7), lesson.places)
        seen = pupil.head.projected(pupil.head.pool(tokens, lesson.features).tokens)
    right = (seen @ lessons().names.T).argmax(dim=1) == lesson.concepts
    assert right.float().mean() > 3 / CONCEPTS


def test_a_run_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole, losses = learned(PLAN, tmp_path / "whole.pt")
    _, first = learned(PLAN, tmp_path / "parts.pt", stop=3)
    again, second = learned(PLAN, tmp_path / "parts.pt")
    assert (len(first), len(second)) == (3, 2)
    assert first + second == losses
    for one, other in zip(whole.parameters(), again.parameters(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("change", [{"seed": 1}, {"rate": 1e-3}, {"epochs": 4}])
def test_another_plan_starts_anew(change, tmp_path):
    learned(PLAN, tmp_path / "run.pt", stop=2)
    plan = replace(PLAN, **change)
    _, losses = learned(plan, tmp_path / "run.pt")
    assert len(losses) == plan.epochs


def test_seeds_differ_and_repeat(tmp_path):
    runs = [
        learned(replace(PLAN, seed=seed), tmp_path / f"{n}.pt")[1]
        for n, seed in enumerate((0, 0, 1))
    ]
    assert runs[0] == runs[1] != runs[2]


def test_a_picture_of_the_same_name_is_no_mistake():
    pictures = F.normalize(torch.randn(3, 7, generator=torch.Generator().manual_seed(0)), dim=-1)
    pictures = torch.stack([pictures[0], pictures[0], pictures[1]])
    logits = 20 * pictures @ pictures.T
    strangers = contrastive_loss(logits)
    of_one_name = contrastive_loss(logits, torch.tensor([4, 4, 2]))
    # Two equal pictures cannot be told apart: half the probability each is the best there is.
    assert strangers > 2 / 3 * torch.log(torch.tensor(2.0)) - 1e-3
    assert of_one_name == pytest.approx(strangers.item(), abs=1e-3)
    assert contrastive_loss(logits * 9, torch.tensor([4, 4, 2])) == pytest.approx(
        2 / 3 * torch.log(torch.tensor(2.0)).item(), abs=1e-3
    )


def test_the_scale_is_held_and_can_come_back():
    pupil = student()
    with torch.no_grad():
        pupil.logit_scale.fill_(9.0)
    assert pupil.scale().item() == pytest.approx(MOST_SCALE)
    pupil.scale().backward()
    assert pupil.logit_scale.grad > 0


def test_the_rate_rises_and_falls():
    shares = [share_of_rate(done, PLAN) for done in (0.0, PLAN.warmup / 2, PLAN.warmup, 0.6, 1.0)]
    assert shares[0] < shares[1] < shares[2] == 1.0 > shares[3] > shares[4] == pytest.approx(0)


def test_quadrants_are_the_corners_without_the_middle():
    grid = QUADRANT.reshape(7, 7)
    assert grid[3].eq(-1).all()
    assert grid[:, 3].eq(-1).all()
    assert [grid[corner].item() for corner in ((0, 0), (0, 6), (6, 0), (6, 6))] == [0, 1, 2, 3]


def test_quadrant_means_by_hand():
    places = torch.tensor([[0, 1, 6, 24]])  # two of the upper left, one upper right, the middle
    own = torch.tensor([[[1.0], [3.0], [5.0], [99.0]]])
    means, there = quadrant_means(own, places)
    assert means[0, :, 0].tolist() == [2.0, 5.0, 0.0, 0.0]
    assert there[0].tolist() == [True, True, False, False]
    assert places.max() < PLACES


def test_imagined_photographs_are_seen_by_the_classifier():
    given = lessons()
    lesson = given.of_imagination(CLASSES * 5, torch.Generator().manual_seed(1))
    seen = given.lite0.classifier(lesson.features.mean(dim=1)).argmax(dim=1)
    assert (seen == lesson.concepts).float().mean() > 3 / CLASSES
    assert lesson.features.min() >= 0
    assert lesson.features.max() <= 6
