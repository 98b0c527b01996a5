"""Patch embedding against timm's, at sizes that the patch divides and at others."""

import pytest
import torch
from timm.layers import PatchEmbed

from core.layers import PatchEmbedding


@pytest.mark.parametrize("patch", [8, (5, 3)])
@pytest.mark.parametrize("size", [(32, 48), (30, 45), (1, 1), (7, 11), (8, 24)])
@pytest.mark.parametrize("bias", [False, True])
def test_any_size_equals_timm(patch, size, bias):
    torch.manual_seed(0)
    how = {"embed_dim": 13, "bias": bias, "dynamic_img_pad": True}
    theirs = PatchEmbed(None, patch, **how)
    ours = PatchEmbedding(13, patch, bias=bias)
    ours.projection.load_state_dict(theirs.proj.state_dict())
    images = torch.randn(2, 3, *size)
    tokens = ours(images)
    torch.testing.assert_close(tokens, theirs(images), atol=1e-5, rtol=0)
    rows, columns = ours.grid(*size)
    assert (rows, columns) == tuple(theirs.dynamic_feat_size(size))
    assert tokens.shape == (2, rows * columns, 13)


def test_v1_a_wide_picture_is_cut_row_by_row():
    layer = PatchEmbedding(1, 8, channels=1, bias=False)
    torch.nn.init.ones_(layer.projection.weight)
    image = torch.zeros(1, 1, 32, 48)
    image[..., 8:16, 40:48] = 1
    assert layer.grid(32, 48) == (4, 6)
    assert layer(image)[0, :, 0].nonzero().tolist() == [[1 * 6 + 5]]


def test_padding_lies_at_the_right_and_lower_edge():
    layer = PatchEmbedding(1, 8, channels=1, bias=False)
    torch.nn.init.ones_(layer.projection.weight)
    sums = layer(torch.ones(1, 1, 9, 10))[0, :, 0]
    assert sums.tolist() == [64, 16, 8, 2]


def test_another_number_of_channels_is_named():
    with pytest.raises(ValueError, match="pictures of 3 channels were wanted; 1 came"):
        PatchEmbedding(13, 8)(torch.zeros(1, 1, 8, 8))
