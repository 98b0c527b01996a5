"""What a long text costs: the lines on smollm2 with 8,192 tokens in `bench attention`."""

import json
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

import core
from core.bench.bars.report import Line, exactly
from core.bench.memory import peak_bytes
from core.bench.timing import Spread, seconds
from core.maps.choices import Choice, HeadView
from core.maps.head_view import EXACT_UP_TO, head_view
from core.maps.regions import Region
from core.models import load, ready
from core.models.run import Run
from core.picture.canvas.scene import head_scene
from core.picture.canvas.source import script, style
from core.picture.canvas.views import ViewData

NAME, TOKENS = "smollm2", 8_192
HEADS = ((0, 0), (10, 3), (15, 4), (23, 4), (29, 8))  # layer and head, near the input and far
# The last queries, which see the most keys: the dearest tiles that there are.
TILES = (Region((7_680, 8_192), (0, 512)), Region((7_680, 8_192), (7_680, 8_192)))
MAP_SECONDS, TILE_MILLISECONDS, SENT = 0.4, 150, 300
BUFFER = 1 / 4  # of a map of N x N float32 weights


def lines() -> Iterator[Line | str]:
    """A forward pass, then the whole map of a head and tiles of it: time, bytes, memory."""
    if not ready(NAME):
        yield f"{NAME}, {TOKENS:,} tokens: not measured, its weights are not here (make weights)"
        return
    run, *passes = read()
    yield from passes
    heads = [Choice(layer=layer, head=head) for layer, head in HEADS]
    tiles = [
        Choice(layer=layer, head=head, region=region) for layer, head in HEADS for region in TILES
    ]
    what = f"{NAME}, {TOKENS:,} tokens"
    yield Line(f"a head's map in {EXACT_UP_TO} x {EXACT_UP_TO} cells, seconds: {what}",
               timed(run, heads, view_head), MAP_SECONDS, "s")  # fmt: skip
    yield Line(f"a tile of {EXACT_UP_TO} x {EXACT_UP_TO} weights, milliseconds: {what}",
               timed(run, tiles, view_head, 1000.0), TILE_MILLISECONDS, "ms")  # fmt: skip
    yield Line("  the same, packed for the browser",
               timed(run, tiles, packed, 1000.0), TILE_MILLISECONDS, "ms")  # fmt: skip
    for name, choices in (("the map", heads), ("a tile", tiles)):
        sent = max(kilobytes(packed(run, choice)) for choice in choices)
        yield Line(f"bytes sent for {name}, the largest of {len(choices)}: {what}",
                   exactly(sent), SENT, "kB")  # fmt: skip
    largest = max(peak_bytes(lambda choice=choice: view_head(run, choice)) for choice in heads)
    yield Line("most memory of the map / N x N float32 weights",
               exactly(largest / (4 * TOKENS**2)), BUFFER)  # fmt: skip


def read() -> tuple[Run | Line, ...]:
    """The run, its seconds, and the longest time between two steps of its progress.

    A Cancel ends the pass at the next step.
    """
    model, steps = load(NAME, device="cpu"), []
    # Our own source: a text that repeats itself would need fewer bytes than a real one.
    files = sorted(Path(core.__file__).parent.rglob("*.py"))
    prepared = model.prepare("\n".join(file.read_text(encoding="utf-8") for file in files))
    start = time.perf_counter()
    run = model.run(prepared, on_call=lambda share: steps.append(time.perf_counter()))
    took = time.perf_counter() - start
    waits = [after - before for before, after in zip([start, *steps], steps, strict=False)]
    what = f"{NAME}, {len(run.prepared.groups[0].queries[0]):,} tokens"
    return (
        run,
        Line(f"a recorded forward pass, seconds: {what}", exactly(took), None),
        Line("  the longest wait for its progress, or for a Cancel, s", exactly(max(waits)), None),
    )


def view_head(run: Run, choice: Choice) -> HeadView:
    """One head, or a tile of it."""
    return head_view(run, choice)


def packed(run: Run, choice: Choice) -> ViewData:
    """The same as it is given to the browser."""
    return head_scene(head_view(run, choice), choice, run="bench", zoom=True)


def timed(
    run: Run, choices: list[Choice], work: Callable[[Run, Choice], object], factor: float = 1.0
) -> Spread:
    """The time of one look, over different ones, each after one that is left out.

    What a system has put aside of q and k since the pass would be read back in the first.
    """
    cpu = torch.device("cpu")
    for choice in choices:
        work(run, choice)
    return Spread.of(
        [factor * seconds(lambda choice=choice: work(run, choice), cpu) for choice in choices]
    )


def kilobytes(data: ViewData) -> float:
    """On the wire: a view brings the canvas's script, and the socket deflates all."""
    return len(zlib.compress((json.dumps(data) + script() + style()).encode())) / 1000
