"""Similarity: orders keep what belongs together, recall and rankings as counted by hand."""

import numpy as np
import pytest
import torch

from core.errors import InputError
from core.zero_shot.similarity import MOST_CLUSTERED, order, ranking, recall_at_k

MATRIX = np.array([[0.1, 0.3, 0.2], [0.9, 0.0, 0.2]], np.float32)


def random(rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).random((rows, columns)).astype(np.float32)


def test_the_given_order_is_left_alone():
    rows, columns = order(MATRIX, "given")
    assert (rows.tolist(), columns.tolist()) == ([0, 1], [0, 1, 2])


def test_sorted_puts_the_row_and_the_column_with_the_largest_cosine_first():
    rows, columns = order(MATRIX, "sorted")
    assert rows.tolist() == [1, 0]  # 0.9, 0.3
    assert columns.tolist() == [0, 1, 2]  # 0.9, 0.3, 0.2


def test_sorted_leaves_equal_rows_as_given():
    rows, _ = order(np.array([[0.1], [0.5], [0.1], [0.5]], np.float32), "sorted")
    assert rows.tolist() == [1, 3, 0, 2]


def test_sorted_among_themselves_does_not_count_the_cosine_with_itself():
    matrix = np.array([[1.0, 0.2, 0.1], [0.2, 1.0, 0.7], [0.1, 0.7, 1.0]], np.float32)
    rows, columns = order(matrix, "sorted", symmetric=True)
    assert rows.tolist() == columns.tolist() == [1, 2, 0]
    assert matrix[0, 0] == 1.0


def test_clustered_lays_points_of_a_line_in_the_line_s_order():
    line = np.random.default_rng(0).permutation(13).astype(np.float32)
    rows, columns = order(line[:, None], "clustered")
    assert (np.abs(np.diff(line[rows])) == 1).all()
    assert columns.tolist() == [0]


def test_clustered_brings_groups_together_that_were_mixed():
    groups = np.array([0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1])
    matrix = np.eye(3, dtype=np.float32)[groups] + 0.01 * random(11, 3)
    rows, _ = order(matrix, "clustered")
    assert np.count_nonzero(np.diff(groups[rows])) == 2


def test_clustered_among_themselves_keeps_rows_and_columns_alike():
    vectors = random(11, 5)
    rows, columns = order(vectors @ vectors.T, "clustered", symmetric=True)
    assert rows.tolist() == columns.tolist()
    assert sorted(rows.tolist()) == list(range(11))


def test_too_many_to_cluster_is_said_in_a_sentence():
    with pytest.raises(InputError, match=f"At most {MOST_CLUSTERED:,} .* 2,001 came"):
        order(np.zeros((2, MOST_CLUSTERED + 1), np.float32), "clustered")


@pytest.mark.parametrize("k", [1, 3, 10])
def test_recall_equals_counting_torch_s_top_k(k):
    matrix = random(11, 11) + 0.3 * np.eye(11, dtype=np.float32)
    found = recall_at_k(matrix, k)
    for share, values in zip(found, (matrix, matrix.T), strict=True):
        first = torch.tensor(values.copy()).topk(k).indices.tolist()
        assert share == pytest.approx(sum(row in best for row, best in enumerate(first)) / 11)


def test_recall_by_hand_in_both_directions():
    matrix = np.array([[0.9, 0.1, 0.8], [0.2, 0.3, 0.1], [0.5, 0.0, 0.4]], np.float32)
    assert recall_at_k(matrix) == pytest.approx((2 / 3, 2 / 3))
    matrix[2, 1] = 0.4  # text 1 is now nearer to picture 2
    assert recall_at_k(matrix) == pytest.approx((2 / 3, 1 / 3))


def test_recall_counts_the_first_of_equal_ones():
    assert recall_at_k(np.full((5, 5), 0.2, np.float32)).image_to_text == pytest.approx(1 / 5)


def test_recall_wants_pairs():
    with pytest.raises(ValueError, match=r"\(2, 3\) came"):
        recall_at_k(MATRIX)
    with pytest.raises(ValueError, match="0 came"):
        recall_at_k(MATRIX[:, :2], k=0)


def test_ranking_is_by_cosine_whatever_the_lengths():
    rng = torch.Generator().manual_seed(0)
    query, vectors = torch.randn(7, generator=rng), torch.randn(11, 7, generator=rng)
    expected = torch.cosine_similarity(5 * query[None], vectors * 3)
    ranked = ranking(query, vectors)
    assert [index for index, _ in ranked] == expected.argsort(descending=True).tolist()
    for index, cosine in ranked:
        assert cosine == pytest.approx(float(expected[index]), abs=1e-6)
    assert ranking(query, vectors, count=3) == ranked[:3]


def test_ranking_leaves_equal_ones_as_given():
    vectors = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 2.0], [3.0, 0.0]])
    ranked = ranking(torch.tensor([1.0, 0.0]), vectors)
    assert [each.index for each in ranked] == [1, 3, 0, 2]
