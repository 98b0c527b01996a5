"""The command `bench attention`: mechanisms side by side, as a table of bars or a sweep."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from core.attention.own import enter, load
from core.bench.results.summary import (  # fmt: skip
    BUSY,
    against,
    crossovers,
    is_untested,
    memory_growth,
    time_growth,
    unsure,
    untested,
    verdict,
)
from core.bench.shapes import SHAPES
from core.bench.sweep.estimate import in_bytes, in_time
from core.bench.sweep.messages import Accuracy, Machine, Memory, Message, Refused, Timing
from core.bench.sweep.plan import Plan
from core.bench.sweep.saved import Results, of_kind
from core.bench.sweep.sweep import Sweep
from core.capture.trace import AttentionCall
from core.cli import bench_inputs
from core.errors import InputError

STOPPED = 130  # what a shell gives a command that Ctrl+C ended
BAR_THREADS = 2  # of the table, whose bars are stated for as many
BARS = "core.bench.bars.attention"
ROOT = Path(__file__).resolve().parents[2]
FIELDS = (
    "mechanisms", "lengths", "batch", "heads", "dim", "precision", "causal", "backward", "rounds",
    "threads", "seed", "device", "most_seconds", "keep_memory", "kv_heads", "decode", "batches",
)  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """The table of bars, or a sweep."""
    chosen = {
        name: tuple(value) if isinstance(value, list) else value
        for name in FIELDS
        if (value := getattr(options, name)) is not None
    }
    chosen = {**_preset(options), **chosen, **_own(options, chosen)}
    own = bench_inputs.from_model(options)
    if options.bars and (chosen.keys() - {"threads"} or own or options.out is not None):
        raise InputError("--bars has sizes of its own: it goes with --threads only.")
    if options.bars or not (chosen or own or options.out is not None):
        return _bars(chosen.get("threads", BAR_THREADS))
    if not own:
        return _sweep(Plan(**chosen), options.out)
    recorded = bench_inputs.model_call(options, chosen)
    return _sweep(recorded.plan(Plan(**chosen)), options.out, recorded.call)


def _preset(options: argparse.Namespace) -> dict:
    """The sizes of a model that people know; what is said beside it goes before."""
    if options.preset is None:
        return {}
    shape = SHAPES[options.preset]
    found = {"heads": shape.heads, "kv_heads": shape.kv_heads, "dim": shape.dim}
    causal = shape.causal and not options.decode  # a decoding step's one query sees all keys
    return {**found, "causal": causal, "lengths": (shape.length,)}


def _own(options: argparse.Namespace, chosen: dict) -> dict:
    """Mechanisms out of files, beside the chosen ones, or beside those that are usual."""
    if not options.own:
        return {}
    files = tuple(_absolute(where) for where in options.own)
    names = tuple(enter(load(where)) for where in files)
    return {"own": files, "mechanisms": (*chosen.get("mechanisms", Plan.mechanisms), *names)}


def _absolute(where: str) -> str:
    """The child runs in another folder."""
    file, colon, name = where.rpartition(":")
    return f"{Path(file).resolve()}{colon}{name}"


def _bars(threads: int) -> int:
    command = [sys.executable, "-m", BARS, "--threads", str(threads)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _sweep(plan: Plan, out: Path | None, call: AttentionCall | None = None) -> int:
    sweep = Sweep(plan, None if out is None else out.absolute(), call)
    cost = sweep.estimate
    sys.stdout.write(f"about {in_time(cost.seconds)} and {in_bytes(cost.peak_bytes)} of memory\n")
    stopped = False
    try:
        for message in sweep:
            for line in lines_of(message, sweep.results):
                sys.stdout.write(f"{line}\n")
                sys.stdout.flush()
    except KeyboardInterrupt:
        sweep.cancel()
        stopped = True
        sys.stderr.write("\nStopped; what was measured so far stays.\n")
    for line in summary(sweep.results):
        sys.stdout.write(f"{line}\n")
    return STOPPED if stopped else 0


def lines_of(message: Message, results: Results) -> Iterator[str]:
    """A message as lines to read."""
    if isinstance(message, Machine):
        yield (
            f"{message.name}, {message.device}, {message.threads} threads: products "
            f"{message.flops / 1e9:,.0f} GFLOP/s, copies {message.bytes / 1e9:,.1f} GB/s"
        )
        return
    if not isinstance(message, Accuracy | Timing | Memory | Refused):
        return
    start = f"{message.length:>9,}  {message.mechanism:<13} "
    if isinstance(message, Accuracy):
        yield (
            f"{start}error {message.output_error:.1e}, total variation "
            f"{message.total_variation:.3f} (worst row {message.worst_variation:.3f}), entropy "
            f"{message.entropy:.2f} (softmax {message.softmax_entropy:.2f})"
        )
    elif isinstance(message, Timing):
        yield start + _time(message, results)
    elif isinstance(message, Memory):
        found = "no peak to read" if message.measured is None else f"{message.measured:,} bytes"
        known = "" if message.formula is None else f", by formula {message.formula:,.0f}"
        yield f"{start}{message.kind}: {found}{known}"
        if message.warning:
            yield f"{start}{message.warning}"
    else:
        yield f"{start}not measured: {message.reason}"


def _time(timing: Timing, results: Results) -> str:
    spread = timing.spread
    words = (
        f"{timing.kind}: {1000 * spread.median:.4g} ms "
        f"({1000 * spread.low:.4g}..{1000 * spread.high:.4g}), first {1000 * timing.warm_up:.4g}"
    )
    machines = of_kind(results.messages, Machine)
    limit = machines[-1].limit(timing) if machines else None
    words += "" if limit is None else f", limit {1000 * limit:.4g}"
    if timing.noise is not None:
        return f"{words}, beside itself {timing.noise.low:.3f}..{timing.noise.high:.3f}"
    for base in of_kind(results.messages, Timing):
        same = (base.length, base.kind) == (timing.length, timing.kind)
        if same and base.noise is not None:
            share = against(timing, base)
            words += f", {share.median:.3g} of {base.mechanism} ({share.low:.3g}..{share.high:.3g})"
    return words


def summary(results: Results) -> Iterator[str]:
    """Exponents, lengths where mechanisms cost the same, and the verdict."""
    base = results.plan.base
    for mechanism in results.plan.mechanisms:
        fits = {
            "time": time_growth(results, mechanism),
            "memory": memory_growth(results, mechanism),
        }
        for what, fit in fits.items():
            if fit is not None:
                error = "" if fit.error is None else f" +- {fit.error:.2f}"
                yield f"{mechanism}: {what} grows as N^{fit.exponent:.2f}{error}"
        for crossing in crossovers(results, mechanism, base) if mechanism != base else ():
            low, high = (
                "?" if end is None else f"{end:,.0f}" for end in (crossing.low, crossing.high)
            )
            same = f"{mechanism} and {base} take the same time"
            yield f"{same} at {crossing.length:,.0f} positions ({low}..{high})"
    for found in of_kind(results.messages, Accuracy):
        if is_untested(found):
            yield untested(found.mechanism, found.length)
    found = verdict(results)
    if found is not None:
        yield found.sentence()
    for mechanism, length in unsure(results):
        yield f"{mechanism} at {length:,}: the rounds differ too much. {BUSY}"
