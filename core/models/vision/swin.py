"""Swin Transformers of timm: stages of ever larger patches, each attending inside windows.

Source: Liu et al. 2021, https://arxiv.org/abs/2103.14030, and timm's SwinTransformer,
https://github.com/huggingface/pytorch-image-models/blob/main/timm/models/swin_transformer.py
"""

from dataclasses import replace
from typing import NamedTuple

from timm.models import SwinTransformer

from core.capture.trace import Trace
from core.capture.windows import Windows
from core.errors import InputError
from core.models.geometry import Geometry
from core.types import Group


class Stage(NamedTuple):
    """Blocks over one grid of patches."""

    grid: tuple[int, int]
    windows: tuple[Windows, ...]  # one a block, which attends once


def stages(module: SwinTransformer, name: str) -> tuple[Stage, ...]:
    """The stages of a Swin, first to last.

    Raises:
        InputError: if it looks at padding, which has no place in the picture.
    """
    found, before = [], None
    for number, layer in enumerate(module.layers, start=1):
        grid = tuple(layer.output_resolution)
        if before is not None and before != (2 * grid[0], 2 * grid[1]):
            raise InputError(
                f"A Swin that joins patches two by two was wanted; stage {number} of '{name}' "
                f"would join {before[0]} x {before[1]} patches, so it pads the picture."
            )
        cuts = [(tuple(block.window_size), tuple(block.shift_size)) for block in layer.blocks]
        for (height, width), _ in cuts:
            if grid[0] % height or grid[1] % width:
                raise InputError(
                    f"A Swin whose windows fill the picture was wanted; stage {number} of '{name}' "
                    f"has {grid[0]} x {grid[1]} patches in windows of {height} x {width}, so it "
                    "looks at padding too."
                )
        found.append(Stage(grid, tuple(Windows(grid, *cut) for cut in cuts)))
        before = grid
    return tuple(found)


def use_fused_attention(module: SwinTransformer) -> None:
    """Let every window attend through the function that a capture sees; the output is the same."""
    for part in module.modules():
        if hasattr(part, "fused_attn"):
            part.fused_attn = True


def stage_groups(stages: tuple[Stage, ...], geometry: Geometry, batch: int) -> tuple[Group, ...]:
    """One group a stage, over the patches of its own grid."""
    groups, calls = [], 0
    for number, stage in enumerate(stages, start=1):
        rows, columns = stage.grid
        positions = (geometry.coarser(stage.grid).positions(),) * batch
        own = tuple(range(calls, calls + len(stage.windows)))
        starts = (0,) * batch
        name = f"stage {number} ({rows} x {columns})"
        groups.append(Group(name, own, positions, positions, starts, starts))
        calls += len(stage.windows)
    return tuple(groups)


def stitched(trace: Trace, stages: tuple[Stage, ...]) -> Trace:
    """The trace with each call's windows in their places in the picture."""
    windows = [cut for stage in stages for cut in stage.windows]
    return Trace(
        [replace(call, windows=cut) for call, cut in zip(trace.calls, windows, strict=True)]
    )
