"""Evaluation: every number is worked out by hand."""

import pytest
import torch

from core.models.clip_mini.training.evaluation import (
    Photographs,
    Score,
    quadrant_found,
    ranks,
    recall,
)

EYE = torch.eye(5)


def test_ranks_count_the_texts_that_lie_nearer():
    images = torch.tensor([[1.0, 0, 0, 0, 0], [3.0, 2, 1, 0, 0], [3.0, 2, 1, 0, 0]])
    assert ranks(images, EYE, torch.tensor([0, 2, 1])).tolist() == [0, 2, 1]


def test_recall_is_per_cent_within_the_first_so_many():
    found = torch.tensor([0, 4, 5, 9])
    assert [recall(found, within) for within in (1, 5, 10)] == [25.0, 50.0, 100.0]


def shown(*quadrants: int) -> torch.Tensor:
    """A 7 x 7 map that shows one thing in each quadrant, and nothing known between them."""
    patches = EYE[4].expand(1, 7, 7, 5).clone()
    for place, thing in enumerate(quadrants):
        rows, columns = (
            slice(4, 7) if place > 1 else slice(3),
            slice(4, 7) if place % 2 else slice(3),
        )
        patches[0, rows, columns] = EYE[thing]
    return patches


@pytest.mark.parametrize(
    ("quadrants", "found"),
    [((0, 1, 2, 3), 100.0), ((1, 0, 2, 3), 50.0), ((3, 2, 1, 0), 0.0), ((0, 2, 3, 1), 25.0)],
)
def test_quadrants_are_named_upper_left_upper_right_lower_left_lower_right(quadrants, found):
    assert quadrant_found(shown(*quadrants), EYE[None, :4]) == found


def test_a_place_that_two_quadrants_share_counts_half_for_each():
    patches = shown(4, 4, 4, 4)
    patches[0, 0, 3] = EYE[1]  # half for the upper left, half for the upper right
    patches[0, 0, 0] = 0.5 * EYE[0] + 0.5 * EYE[1]  # the upper left again, cosine 0.7
    assert quadrant_found(patches, EYE[[1]].expand(1, 4, 5)) == 25.0


def test_a_photograph_with_two_right_labels_counts_by_the_better_one():
    photographs = Photographs(
        ("cat", "temple", "palace"), {"a": ("temple", "palace"), "b": ("cat",)}
    )
    images = torch.tensor([[0.1, 0.5, 0.9], [0.1, 0.5, 0.9]])
    assert photographs.ranks(images, torch.eye(3)).tolist() == [0, 2]


def test_the_list_names_photographs_that_the_packages_ship():
    photographs = Photographs.read()
    assert (len(photographs.labels), len(photographs.accept)) == (110, 18)
    assert all(path.is_file() for path in photographs.paths())
    assert all(
        label in photographs.labels for right in photographs.accept.values() for label in right
    )


@pytest.mark.parametrize(("reached", "verdict"), [(12.0, " met"), (11.9, "NOT MET")])
def test_a_line_says_whether_the_bar_is_met(reached, verdict):
    assert str(Score("recall at 1", reached, 12.0, "%")).endswith(verdict)
