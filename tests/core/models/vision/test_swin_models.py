"""CASES V3: the shifted windows of a Swin are stitched into one map of the picture.

The reference is timm's softmax, unfused, put together by timm's own roll and partition.
"""

from dataclasses import replace

import pytest
import torch
from timm.models import SwinTransformer

from core import maps
from core.capture import weights
from core.errors import InputError
from core.maps.head_view import Choice, head_view, labelled, mosaic_view, patch_rows
from core.models.vision.model import VisionModel
from tests.core.models.vision.tiny_swin import dense_maps, forbidden, noise, swin

CLOSE = {"atol": 1e-5, "rtol": 0}
HEADS = (2, 2, 3, 3, 3)
BLOCKS = range(5)
SHIFTED = (1, 3)  # block 3, of stage 2, sideways only


@pytest.fixture(scope="module")
def module() -> SwinTransformer:
    return swin()


@pytest.fixture(scope="module")
def run(module):
    """Two pictures through a Swin of two stages."""
    return VisionModel(module, "swin").run([noise(), noise(seed=1)])


@pytest.fixture(scope="module")
def wanted(module, run):
    return dense_maps(module, run.prepared.tensors["pixels"])


def blocks_of(module):
    return [block for layer in module.layers for block in layer.blocks]


@pytest.mark.parametrize("picture", [0, 1])
@pytest.mark.parametrize("block", BLOCKS)
def test_v3_stitched_maps_are_timms_own_put_together(run, wanted, block, picture):
    call = run.trace.calls[block]
    assert (call.batch, call.heads) == (2, HEADS[block])
    for head in range(call.heads):
        whole = maps.head_map(call, head, picture)
        torch.testing.assert_close(whole, wanted[block][picture, head], **CLOSE)
        torch.testing.assert_close(whole.sum(dim=1), torch.ones(call.queries), **CLOSE)


@pytest.mark.parametrize("block", BLOCKS)
def test_v3_patches_that_meet_by_wrapping_weigh_exactly_nothing(module, run, wanted, block):
    parted = forbidden(blocks_of(module)[block])
    assert parted.any() == (block in SHIFTED)
    call = run.trace.calls[block]
    outside = wanted[block][0, 0] == 0
    for head in range(call.heads):
        assert not maps.head_map(call, head)[parted | outside].any()
    assert (maps.allowed_cells(call, 0) == ~(parted | outside)).all()
    assert call.restricted


def test_v3_the_first_patch_never_looks_at_the_far_side(run):
    call = run.trace.calls[1]
    assert call.windows.shift == (2, 1)
    row = maps.row(call, 0, 0).reshape(8, 12)
    # Rolled by 2 and 1, the corner shares a window with the last rows and columns.
    assert row[:2, :1].sum() == pytest.approx(1)
    assert not row[2:].any()
    assert not row[:, 1:].any()


def test_v3_wrapped_patches_weigh_nothing_however_loud_the_scores():
    module = swin()
    with torch.no_grad():
        for block in blocks_of(module):
            # Scores of hundreds, so that timm's -100 no longer silences; v as it was.
            block.attn.qkv.weight[: 2 * block.dim] *= 300
    found = VisionModel(module, "loud").run(noise())
    call, parted = found.trace.calls[1], forbidden(blocks_of(module)[1])
    assert dense_maps(module, found.prepared.tensors["pixels"])[1][0, 0][parted].max() > 0.1
    assert not maps.head_map(call, 0)[parted].any()
    torch.testing.assert_close(maps.head_map(call, 0).sum(dim=1), torch.ones(96), **CLOSE)
    assert found.trace.error < 1e-4
    assert maps.verify(with_output(call)) < 1e-4  # its -100 included


@pytest.mark.parametrize("block", BLOCKS)
def test_v3_a_patch_lies_at_its_row_and_column(run, wanted, block):
    group = run.prepared.groups[0 if block < 2 else 1]
    rows, columns = run.trace.calls[block].windows.grid
    assert columns > rows
    for query, position in enumerate(group.queries[1]):
        assert position.patch == divmod(query, columns)
    found = patch_rows(run, 5 * columns // 2, group=run.prepared.groups.index(group))
    own = found[group.calls.index(block)]
    assert own == pytest.approx(wanted[block][0, :, 5 * columns // 2].numpy(), abs=1e-5)


@pytest.mark.parametrize("block", BLOCKS)
def test_v3_rows_columns_tiles_and_pooled_maps_are_parts_of_the_whole(run, block, monkeypatch):
    call = run.trace.calls[block]
    monkeypatch.setattr("core.maps.blocks.BLOCK_CELLS", 7 * call.keys)
    whole = maps.head_map(call, 1, 1)
    for position in range(0, call.queries, 7):
        torch.testing.assert_close(maps.row(call, 1, position, 1), whole[position])
        torch.testing.assert_close(maps.column(call, 1, position, 1), whole[:, position])
    torch.testing.assert_close(maps.tile(call, 1, (3, 20), (5, 23), 1), whole[3:20, 5:23])
    every = weights.weights_of(call, slice(None), slice(3, 20), 1)
    torch.testing.assert_close(every[1], whole[3:20])
    torch.testing.assert_close(maps.pooled(call, 1, call.keys, batch=1), whole)
    largest = torch.nn.functional.max_pool2d(whole[None], call.queries // 6, ceil_mode=True)[0]
    torch.testing.assert_close(maps.pooled(call, 1, 6, batch=1), largest)


def test_a_row_costs_one_window(run, monkeypatch):
    asked, once = [], weights.window_weights

    def spy(call, heads, windows, batch):
        asked.append(windows)
        return once(call, heads, windows, batch)

    monkeypatch.setattr(weights, "window_weights", spy)
    maps.row(run.trace.calls[1], 0, 17)
    assert [len(windows) for windows in asked] == [1]


def with_output(call):
    """The call with a value, and what torch's kernel makes of it."""
    value = torch.randn(call.key.shape)
    output = torch.nn.functional.scaled_dot_product_attention(
        call.query, call.key, value, attn_mask=call.mask
    )
    return replace(call, value=value, output=output)


@pytest.mark.parametrize("cells", [1, 5000, 1 << 21])
def test_windows_are_verified_as_the_model_computed_them(run, cells, monkeypatch):
    monkeypatch.setattr(weights, "BLOCK_CELLS", cells)  # one by one, some, or all at once
    call = with_output(run.trace.calls[1])
    value, output = call.value, call.output
    assert maps.verify(call) < 2e-6
    output[9, 1, 2, 3] += 0.25  # the second window of the second picture
    found = maps.verify(replace(call, value=value, output=output))
    assert found == pytest.approx(0.25, abs=1e-5)


def test_an_index_beyond_the_picture_or_the_batch_is_named(run):
    call = run.trace.calls[0]
    with pytest.raises(ValueError, match="q from 0 to 95 was wanted; 96 came"):
        maps.row(call, 0, 96)
    with pytest.raises(ValueError, match="batch from 0 to 1 was wanted; 2 came"):
        maps.head_map(call, 0, 2)


def test_the_models_output_is_that_of_its_unfused_self(module, run):
    plain = swin()
    assert not any(part.fused_attn for part in plain.modules() if hasattr(part, "fused_attn"))
    assert all(part.fused_attn for part in module.modules() if hasattr(part, "fused_attn"))
    with torch.inference_mode():
        hidden = plain.forward_features(run.prepared.tensors["pixels"])
        pooled = plain.forward_head(hidden, pre_logits=True)
    torch.testing.assert_close(run.output.hidden, hidden.flatten(1, 2), **CLOSE)
    torch.testing.assert_close(run.output.embedding, pooled, **CLOSE)
    assert run.trace.error < 2e-6  # as the model computed it, its -100 included


def test_every_stage_is_a_group_over_its_own_patches(run):
    first, second = run.prepared.groups
    assert (first.name, first.calls) == ("stage 1 (8 x 12)", (0, 1))
    assert (second.name, second.calls) == ("stage 2 (4 x 6)", (2, 3, 4))
    assert [len(group.keys) for group in (first, second)] == [2, 2]
    geometry = run.prepared.geometry
    assert geometry.of_group(first) == geometry
    coarse = geometry.of_group(second)
    assert (coarse.grid, coarse.patch) == ((4, 6), (4, 4))
    assert coarse.seen_box == geometry.seen_box
    corners = geometry.patch_box(6, 10), geometry.patch_box(7, 11)
    assert coarse.patch_box(3, 5) == pytest.approx((*corners[0][:2], *corners[1][2:]))


def test_a_view_of_a_head_marks_what_may_not_be_seen(run, wanted):
    view = head_view(run, Choice(group=0, layer=1, head=1, item=1))
    assert (view.allowed == (wanted[1][0, 0].numpy() > 1e-30)).all()
    pooled = head_view(run, Choice(group=0, layer=1, head=1), exact_up_to=9)
    assert pooled.allowed.shape == pooled.weights.shape
    assert not pooled.weights[~pooled.allowed].any()
    assert mosaic_view(run, Choice(group=1), size=6).shape == (3, 3, 6, 6)
    assert "stage 2 (4 x 6)" in labelled(run, Choice(group=1), "noise").about.note


def test_standard_attention_inside_the_windows_is_the_models_own(module, run):
    routed = VisionModel(module, "swin").run(run.prepared, "standard")
    torch.testing.assert_close(routed.output.hidden, run.output.hidden, **CLOSE)
    for own, other in zip(run.trace.calls, routed.trace.calls, strict=True):
        torch.testing.assert_close(maps.head_map(own, 1), maps.head_map(other, 1), **CLOSE)


@pytest.mark.parametrize("mechanism", ["linear", "favor"])
def test_a_mechanism_that_takes_no_bias_says_so(module, run, mechanism):
    with pytest.raises(InputError, match="mask"):
        VisionModel(module, "swin").run(run.prepared, mechanism)


@pytest.mark.parametrize("pool", ["avg", ""])
def test_half_precision_and_other_pools_run(pool):
    model = VisionModel(swin(num_classes=0, global_pool=pool), "swin", dtype=torch.bfloat16)
    found = model.run(noise())
    assert found.output.embedding.shape == (1, 24)
    assert found.output.predictions == ()
    rows = maps.head_map(found.trace.calls[1], 0).sum(dim=1)
    torch.testing.assert_close(rows, torch.ones(96), **CLOSE)


@pytest.mark.parametrize("changed", [{"dynamic_img_size": True}, {"always_partition": True}])
def test_v3_other_ways_to_cut_are_stitched_too(changed):
    changed = changed | {"window_size": (4, 3)}
    module = swin(**changed)
    found = VisionModel(module, "swin").run(noise(29, 31))  # cut to the size of the model
    wanted = dense_maps(module, found.prepared.tensors["pixels"])
    for call, whole in zip(found.trace.calls, wanted, strict=True):
        torch.testing.assert_close(maps.head_map(call, 1), whole[0, 1], **CLOSE)
