"""What capture and maps cost: the table of `python -m core bench capture`.

Every figure is a ratio, A B C A B C, or a count. What recording costs is timed in processes of
their own, with PyTorch's default allocator and with one that keeps freed memory.
"""

import json
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, nullcontext
from functools import partial

import numpy as np
import torch

from core import maps
from core.bench.bars.report import Line, exactly
from core.bench.processes import Alone, Prepare
from core.bench.timing import Spread, interleaved, ratio
from core.capture import capture
from core.capture.trace import AttentionCall
from core.maps.head_view import Choice, head_view, mosaic_view
from core.models import load
from core.models.model import Model
from core.models.run import Prepared, Run
from core.models.vision.images import sample_picture
from core.models.vision.model import VisionModel
from core.picture.canvas.encode import encode_each
from core.picture.canvas.scene import head_scene
from core.picture.canvas.source import script, style
from core.picture.canvas.views import mosaic_data

# A model, what it reads, and rounds.
RECORDED = (("minilm", "minilm, 512 tokens", 21), ("focus-vit", "focus-vit, 1,370 positions", 11))
RECORDING, RECORDING_KEPT = 1.12, 1.03  # times a pass that is not recorded
WORDS = "the quick brown fox jumps over the lazy dog and runs into the dark old wood again "


def lines() -> Iterator[Line]:
    """All measurements, one after another; a few minutes on two cores."""
    minilm, smollm2 = (load(name, device="cpu") for name in ("minilm", "smollm2"))
    with torch.inference_mode():
        text = exact_length(minilm, 512)
        for name, what, count in RECORDED:
            yield recording(name, what, count)
            yield recording(name, what, count, keep_memory=True)
        yield from against_eager(smollm2, exact_length(smollm2, 1024))
        yield kept_bytes("minilm, 512 tokens", minilm.run(text), 1 / 7)
        yield kept_bytes("smollm2, 2,048 tokens", smollm2.run(exact_length(smollm2, 2048)), 1 / 20)
        yield row_of_map(random_call(4096))
        yield map_of_product(random_call(2048))
        yield from sent(minilm.run(text))


def recording(name: str, what: str, rounds: int, *, keep_memory: bool = False) -> Line:
    """A forward pass that is recorded, beside one that is not.

    A trace holds on to q and k, so each layer's are written into memory that is new to the process.
    """
    samples: dict[str, list[float]] = {"recorded": [], "plain": []}
    with ExitStack() as ends:
        runners = {}
        for kind in samples:
            make = partial(forward_pass, name, recorded=kind == "recorded")
            runners[kind] = Alone(make, torch.get_num_threads(), keep_memory=keep_memory)
            ends.callback(runners[kind].end)
        for runner in runners.values():
            runner.ready()
        for number in range(rounds + 1):
            for kind, runner in runners.items():
                time = runner.turn().seconds
                samples[kind] += [time] if number else []
    memory = "  the same, freed memory kept" if keep_memory else "forward with capture / plain"
    bar = RECORDING_KEPT if keep_memory else RECORDING
    return Line(f"{memory}: {what}", ratio(samples, "recorded", "plain"), bar)


def forward_pass(name: str, *, recorded: bool) -> Prepare:
    """One of `RECORDED` on its input, recorded or not."""
    model = load(name, device="cpu")
    prepared = square_picture(model) if name == "focus-vit" else exact_length(model, 512)

    def once() -> None:
        with torch.inference_mode(), capture() if recorded else nullcontext():
            model.forward(prepared)

    return lambda: once


def against_eager(model: Model, prepared: Prepared) -> Iterator[Line]:
    """A recorded forward pass, beside the eager one that returns every map.

    The second line is the limit of the first: the same fast pass with nothing recorded.
    """

    def fast() -> None:
        model.module.set_attn_implementation("sdpa")
        model.forward(prepared)

    def recorded() -> None:
        with capture():
            fast()

    def eager() -> None:
        model.module.set_attn_implementation("eager")
        model.module(**prepared.tensors, output_attentions=True, use_cache=False, logits_to_keep=1)

    samples = interleaved({"recorded": recorded, "fast": fast, "eager": eager})
    model.module.set_attn_implementation("sdpa")
    what = "eager with output_attentions: smollm2, 1,024"
    yield Line(f"forward with capture / {what}", ratio(samples, "recorded", "eager"), 0.45)
    yield Line(
        "  its limit: the same pass, nothing recorded / eager",
        ratio(samples, "fast", "eager"),
        None,
    )


def kept_bytes(what: str, run: Run, bar: float) -> Line:
    """Bytes that a trace keeps, beside layers x heads x N x N float32 weights."""
    eager = sum(
        4 * call.query.shape[0] * call.heads * call.query.shape[2] * call.key.shape[2]
        for call in run.trace.calls
    )
    return Line(f"bytes kept / eager's maps: {what}", exactly(run.trace.nbytes / eager), bar)


def row_of_map(call: AttentionCall) -> Line:
    """One row, beside the whole map of its head.

    A row takes microseconds, so a sample is the mean over many different ones.
    """
    queries = range(0, call.query.shape[2], 64)

    def some_rows() -> None:
        for q in queries:
            maps.row(call, 0, q)

    samples = interleaved({"row": some_rows, "map": lambda: maps.head_map(call, 0)}, rounds=15)
    samples["row"] = [sample / len(queries) for sample in samples["row"]]
    return Line("one row / one head map: N = 4,096", ratio(samples, "row", "map"), 1 / 200)


def map_of_product(call: AttentionCall) -> Line:
    """A head's map, beside the bare product of its q and k."""
    query, key = call.query[0, 0], call.key[0, 0]
    works = {"map": lambda: maps.head_map(call, 0), "product": lambda: query @ key.T}
    samples = interleaved(works, rounds=31)
    return Line("one head map / bare q k^T: N = 2,048", ratio(samples, "map", "product"), 1.8)


def sent(run: Run) -> Iterator[Line]:
    """Bytes and server time of what the page sends for a head and for the mosaic."""
    choice = Choice(layer=2, head=5)
    mosaic = mosaic_view(run, choice)
    # minilm has 72 heads; the bar is for 144.
    sent = mosaic_data(encode_each(np.concatenate([mosaic, mosaic])), run="bench")
    yield Line(
        "bytes sent for one new head: 512 tokens", exactly(_size(_head(run, choice))), 150, "kB"
    )
    yield Line("bytes sent for a mosaic of 144 heads: 512 tokens", exactly(_size(sent)), 200, "kB")
    samples = interleaved({"head": lambda: _head(run, choice)}, rounds=15)["head"]
    spread = Spread.of([1000 * sample for sample in samples])
    yield Line("server time, click on a head to its picture: 512 tokens", spread, 100, "ms")


def random_call(length: int) -> AttentionCall:
    """A recorded call of 8 heads of 64 dimensions with normal q and k."""
    rng = torch.Generator().manual_seed(0)
    query, key = torch.randn(2, 1, 8, length, 64, generator=rng)
    return AttentionCall(query, key, None, False, 64**-0.5, None, "flash (cpu)")


def exact_length(model: Model, tokens: int) -> Prepared:
    """A text that the model reads as exactly so many tokens."""
    prepared = model.prepare(WORDS * (tokens // 10))
    ids = prepared.tensors["input_ids"][:, :tokens]
    return model.prepare(model.tokenizer.decode(ids[0], skip_special_tokens=True))


def square_picture(model: VisionModel) -> Prepared:
    """A square sample: at focus-vit's 518 pixels 37 x 37 patches and CLS are 1,370 positions."""
    return model.prepare(sample_picture("astronaut"))


def _head(run: Run, choice: Choice) -> dict:
    return head_scene(head_view(run, choice), choice, run="bench")


def _size(data: dict) -> float:
    """Kilobytes on the wire: a view brings the canvas's script, and the socket deflates all."""
    sent = json.dumps(data) + script() + style()
    return len(zlib.compress(sent.encode())) / 1000
