"""Swin attention against the paper's rolled and masked windows, and through a model's picture."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from timm.models import VisionTransformer
from timm.models.swin_transformer import SwinTransformerBlock

from core import maps
from core.attention import MECHANISMS
from core.attention.common import pattern
from core.attention.common.grid import Grid
from core.attention.common.masks import causal_mask
from core.attention.swin import swin
from core.capture import capture
from core.errors import InputError

BATCH, HEADS, KV_HEADS, DIM, VALUE_DIM = 2, 4, 2, 5, 3
GRIDS = [(12, 12), (13, 10), (10, 19), (5, 23), (3, 17), (2, 2), (1, 11)]
every_grid = pytest.mark.parametrize("grid", GRIDS, ids=lambda grid: f"{grid[0]} x {grid[1]}")
every_prefix = pytest.mark.parametrize("prefix", [0, 1, 5])
every_cut = pytest.mark.parametrize(("width", "shift"), [(4, 0), (4, 2), (5, 1), (5, 4), (1, 0)])


def inputs(q, k=None, seed=0):
    rng = torch.Generator().manual_seed(seed)
    sizes = ((HEADS, q, DIM), (KV_HEADS, k or q, DIM), (KV_HEADS, k or q, VALUE_DIM))
    return [torch.randn(BATCH, *size, generator=rng, dtype=torch.float64) for size in sizes]


def axis_labels(side, width, shift):
    """Of a rolled axis, as the paper numbers the parts that its mask keeps apart."""
    labels = torch.zeros(side, dtype=torch.long)
    labels[side - width :] = 1
    labels[side - shift :] = 2
    return labels


def rolled(grid, width, shift):
    """Who looks at whom by the paper: pad, roll, part into windows, mask what was wrapped."""
    shifts = [shift if side > width else 0 for side in grid]
    padding = (0, -grid[1] % width, 0, -grid[0] % width)
    places = F.pad(torch.arange(grid[0] * grid[1]).unflatten(0, grid), padding, value=-1)
    labels = [axis_labels(*each) for each in zip(places.shape, (width, width), shifts, strict=True)]
    places = places.roll([-each for each in shifts], (0, 1))
    parts = []
    for picture in (places, labels[0][:, None] * 3 + labels[1]):
        cells = picture.unflatten(1, (-1, width)).unflatten(0, (-1, width))
        parts.append(cells.transpose(1, 2).flatten(2).flatten(0, 1))
    seen = torch.zeros(grid[0] * grid[1], grid[0] * grid[1], dtype=torch.bool)
    for window, label in zip(*parts, strict=True):
        i, j = torch.meshgrid(window, window, indexing="ij")
        kept = (label[:, None] == label) & (i >= 0) & (j >= 0)
        seen[i[kept], j[kept]] = True
    return seen


def by_paper(grid, width, shift, prefix):
    """The same, and a prefix that sees all and is seen by all."""
    return F.pad(rolled(grid, width, shift), (prefix, 0, prefix, 0), value=True)


def sdpa(query, key, value, seen):
    blind = ~seen.any(dim=-1, keepdim=True)
    how = {"attn_mask": seen | blind, "enable_gqa": True}
    return F.scaled_dot_product_attention(query, key, value, **how).masked_fill(blind, 0)


@every_grid
@every_prefix
@every_cut
def test_windows_are_those_that_the_paper_rolls_and_masks(grid, prefix, width, shift, monkeypatch):
    monkeypatch.setattr(pattern, "TOGETHER", 3)
    seen = by_paper(grid, width, shift, prefix)
    query, key, value = inputs(len(seen))
    mechanism, where = swin(width, shift), Grid(*grid, prefix)
    output = mechanism.attend(query, key, value, grid=where)
    torch.testing.assert_close(output, sdpa(query, key, value, seen))
    weights = mechanism.weights(query, key, grid=where)
    assert torch.equal(weights > 0, seen.expand(weights.shape))
    torch.testing.assert_close(weights @ value.repeat_interleave(2, dim=1), output)


@every_prefix
@pytest.mark.parametrize("kind", ["none", "padding", "bias", "pairs"])
@pytest.mark.parametrize("is_causal", [False, True])
def test_masks_and_causality_are_by_position(prefix, kind, is_causal, monkeypatch):
    monkeypatch.setattr(pattern, "TOGETHER", 3)
    grid, rng = (13, 10), torch.Generator().manual_seed(1)
    seen = by_paper(grid, 4, 2, prefix)
    n = len(seen)
    query, key, value = inputs(n)
    if kind == "padding":
        mask = torch.ones(BATCH, 1, 1, n).bool()
        mask[1, ..., n - 41 :] = False
    else:
        bias = torch.randn(HEADS, n, n, generator=rng, dtype=torch.float64)
        mask = {"none": None, "bias": bias, "pairs": bias > 0.3}[kind]
    visible = seen & causal_mask(n, n) if is_causal else seen
    if kind == "bias":
        wanted = F.scaled_dot_product_attention(
            query, key, value, bias.masked_fill(~visible, -torch.inf), enable_gqa=True
        )
    else:
        wanted = sdpa(query, key, value, visible if mask is None else visible & mask)
    how = {"mask": mask, "is_causal": is_causal, "grid": Grid(*grid, prefix)}
    torch.testing.assert_close(swin(4, 2).attend(query, key, value, **how), wanted)
    weights = swin(4, 2).weights(query, key, **how)
    torch.testing.assert_close(weights @ value.repeat_interleave(2, dim=1), wanted)


@pytest.mark.parametrize("shift", [0, 2])
def test_output_is_that_of_a_swin_block_of_timm(shift):
    torch.manual_seed(0)
    block = SwinTransformerBlock(12, (8, 12), num_heads=3, window_size=4, shift_size=shift).eval()
    torch.nn.init.zeros_(block.attn.relative_position_bias_table)
    picture = torch.randn(2, 8, 12, 12)
    with torch.inference_mode():
        parts = block.attn.qkv(picture.flatten(1, 2)).unflatten(2, (3, 3, 4)).permute(2, 0, 3, 1, 4)
        output = swin(4, shift).attend(*parts, grid=Grid(8, 12)).transpose(1, 2).flatten(2)
        wanted = block._attn(picture).flatten(1, 2)
        torch.testing.assert_close(block.attn.proj(output), wanted)


def test_nothing_is_wrapped_around():
    weights = swin(4, 2).weights(*inputs(130)[:2], grid=Grid(13, 10))[0, 0].unflatten(0, (13, 10))
    looked = weights.unflatten(2, (13, 10)) > 0
    assert looked[0, :, 0].any()
    assert not looked[0, :, 2:].any()
    assert not looked[:, 0, :, 2:].any()


def test_two_layers_join_windows_that_one_keeps_apart():
    plain, shifted = rolled((8, 8), 4, 0).int(), rolled((8, 8), 4, 2).int()
    query, key, _ = inputs(64)
    layers = [swin(4, each).weights(query, key, grid=Grid(8, 8))[0, 0] for each in (0, 2)]
    assert torch.equal(layers[1] @ layers[0] > 0, shifted @ plain > 0)
    assert (layers[1] @ layers[0] > 0).sum() > 2 * (layers[0] > 0).sum()


@pytest.mark.parametrize(("q", "k"), [(130, 130), (71, 130), (130, 71)])
def test_gradients_equal_those_of_the_whole_matrix(q, k):
    leaves = [tensor.requires_grad_() for tensor in inputs(q, k)]
    output = swin(4, 2).attend(*leaves, is_causal=True)
    weights = swin(4, 2).weights(*leaves[:2], is_causal=True)
    whole = weights @ leaves[2].repeat_interleave(2, dim=1)
    torch.testing.assert_close(output, whole)
    ours = torch.autograd.grad(output.square().sum(), leaves)
    torch.testing.assert_close(ours, torch.autograd.grad(whole.square().sum(), leaves))


def test_without_a_grid_positions_lie_in_nearly_square_rows():
    query, key, value = inputs(42)  # 7 columns, 6 rows
    for mechanism in (swin(4), swin(4, 2)):
        wanted = mechanism.attend(query, key, value, grid=Grid(6, 7))
        torch.testing.assert_close(mechanism.attend(query, key, value), wanted)


def test_a_grid_of_another_size_is_told():
    query, key, value = inputs(25)
    with pytest.raises(ValueError, match=r"^24 keys were wanted .* 5 x 4 patches\); 25 came$"):
        swin(2).attend(query, key, value, grid=Grid(5, 4, 4))
    with pytest.raises(ValueError, match="25 came"):
        swin(2).weights(query, key, grid=Grid(5, 4, 4))


@pytest.mark.parametrize(("width", "shift"), [(0, 0), (-3, 0), (4, 4), (4, -1)])
def test_sizes_that_make_no_sense_are_told(width, shift):
    with pytest.raises(InputError, match=rf"wanted; {width} and {shift} came\."):
        swin(width, shift)


def test_names_are_those_of_the_list_or_none_of_it():
    assert (swin().name, swin(7, 3).name) == ("swin", "swin_shifted")
    others = {swin(*each).name for each in ((7, 1), (4, 0), (4, 2), (1, 0))}
    assert len(others) == 4
    assert not others & set(MECHANISMS)


@pytest.mark.parametrize("shift", [0, 1])
@pytest.mark.parametrize("registers", [0, 2])
def test_maps_of_a_routed_vision_model_are_windows_of_its_picture(shift, registers, monkeypatch):
    mechanism = swin(3, shift)
    monkeypatch.setitem(MECHANISMS, mechanism.name, mechanism)
    monkeypatch.setattr("core.maps.blocks.BLOCK_CELLS", 3 * 25)
    torch.manual_seed(0)
    size = {"img_size": (16, 24), "patch_size": 4, "embed_dim": 12, "depth": 3, "num_heads": 2}
    model = VisionTransformer(**size, reg_tokens=registers, num_classes=0).eval()
    grid, pixels = Grid(4, 6, 1 + registers), torch.randn(2, 3, 16, 24)
    routed = capture(mechanism.name, grid=grid, verify_rows=5, keep_outputs=True)
    with routed as trace:
        model(pixels)
    assert trace.error < 1e-5
    seen = by_paper((4, 6), 3, shift, 1 + registers)
    for call in trace.calls:
        whole = maps.head_map(call, 1, 1)
        assert torch.equal(whole > 0, seen)
        torch.testing.assert_close(whole @ call.value[1, 1], call.output.detach()[1, 1])
        torch.testing.assert_close(maps.row(call, 1, 9, 1), whole[9])
        torch.testing.assert_close(maps.tile(call, 1, (5, 17), (2, 23), 1), whole[5:17, 2:23])


def test_queries_beyond_the_keys_stand_below_them_and_may_see_nothing():
    query, key, value = inputs(8, 5)  # 3 columns: 6 and 7 stand in a third row, below both windows
    output = swin(2).attend(query, key, value)
    seen = torch.zeros(8, 5, dtype=torch.bool)
    for queries, keys in (([0, 1, 3, 4], [0, 1, 3, 4]), ([2, 5], [2])):
        seen[torch.tensor(queries)[:, None], torch.tensor(keys)] = True
    torch.testing.assert_close(output, sdpa(query, key, value, seen))
    assert not output[:, :, 6:].any()
