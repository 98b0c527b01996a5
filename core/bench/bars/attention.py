"""Bars: the table of `python -m core bench attention`, every bar beside what was measured.

Ratios round by round, A B C A B C, fresh inputs in each, every piece of work in a process of its
own with PyTorch's default allocator: N = 4,096, 8 heads of 64 dimensions, float32. Then each
mechanism beside torch.utils.benchmark in a plain process.
"""

import argparse
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor

from core.attention import MECHANISMS
from core.bench.bars import long, plain
from core.bench.bars.others import OTHERS, missing
from core.bench.bars.report import HEADER, Line, exactly
from core.bench.memory import peak_bytes
from core.bench.processes import Alone, Prepare
from core.bench.results.curves import growth
from core.bench.sweep.plan import Plan
from core.bench.sweep.turns import fresh, prepared, prepared_call, work
from core.bench.timing import Spread, ratio

SIZES = "N = 4,096"
LENGTH, ROUNDS, FEW = 4_096, 15, 7
GROWING = (2_048, 4_096, 8_192, 16_384)
AGAINST_FLASH = {
    "window": 1 / 6, "longformer": 1 / 5, "linear": 1 / 12, "favor": 0.3, "chunked": 2.0,
}  # fmt: skip
# What grows as the length: in time, and in memory.
LINEAR_TIME, LINEAR_MEMORY = ("linear", "window"), ("flash", "chunked", "linear", "window")

Make = Callable[[], Prepare]


def lines() -> Iterator[Line | str]:
    """All measurements, one after another; a sentence in place of a line that cannot be had."""
    yield from bare()
    yield from beside_flash()
    yield from causal()
    yield from beside_others()
    yield from chunked_memory()
    yield from growth_lines()
    yield from plain.lines()


def bare() -> Iterator[Line]:
    """Our exact mechanisms beside the bare calls that they stand on."""
    works = {
        "flash": _forward("flash"),
        "bare": partial(prepared_call, Plan(), F.scaled_dot_product_attention),
        "standard": _forward("standard"),
        "by hand": partial(prepared_call, Plan(), by_hand),
    }
    found = rounds(works, ROUNDS)
    what = f"our flash / bare F.scaled_dot_product_attention: {SIZES}"
    yield Line(what, ratio(found, "flash", "bare"), 1.02)
    what = f"our standard / matmul, softmax, matmul by hand: {SIZES}"
    yield Line(what, ratio(found, "standard", "by hand"), 1.05)


def by_hand(query: Tensor, key: Tensor, value: Tensor) -> Tensor:
    """Softmax attention as everybody writes it."""
    scores = (query @ key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    return scores.softmax(dim=-1) @ value


def beside_flash() -> Iterator[Line | str]:
    """Each mechanism beside flash, and flash beside itself."""
    there = [name for name in AGAINST_FLASH if name in MECHANISMS]
    works = {name: _forward(name) for name in ("flash", *there)} | {"again": _forward("flash")}
    found = rounds(works, FEW)
    yield Line(
        f"flash / flash, the noise of this machine: {SIZES}", ratio(found, "again", "flash"), None
    )
    for name, bar in AGAINST_FLASH.items():
        if name in there:
            yield Line(f"{name} / flash: {SIZES}", ratio(found, name, "flash"), bar)
        else:
            yield f"{name} / flash: {SIZES}: there is no mechanism '{name}' yet"


def causal() -> Iterator[Line]:
    """Causal linear beside causal flash."""
    works = {name: _forward(name, is_causal=True) for name in ("linear", "flash")}
    found = rounds(works, ROUNDS)
    yield Line(f"causal linear / causal flash: {SIZES}", ratio(found, "linear", "flash"), 1 / 4)


def beside_others() -> Iterator[Line | str]:
    """Ours beside other people's packages, where they are installed."""
    for other in OTHERS:
        what = f"{other.ours} / {other.package}: {SIZES}"
        if missing(other):
            yield f"{what}: not installed: make bench installs it"
            continue
        works = {"ours": _forward(other.ours), "theirs": partial(theirs, other.ours)}
        yield Line(what, ratio(rounds(works, ROUNDS), "ours", "theirs"), other.bar)


def chunked_memory() -> Iterator[Line | str]:
    """The peak of chunked beside that of standard."""
    if "chunked" not in MECHANISMS:
        yield "chunked / standard, peak memory: there is no mechanism 'chunked' yet"
        return
    what = f"chunked / standard, peak memory: {SIZES}"
    yield Line(what, exactly(_peak("chunked", LENGTH) / _peak("standard", LENGTH)), 1 / 20)


def theirs(ours: str) -> Prepare:
    """The call of the package that is compared with one of ours."""
    (other,) = (other for other in OTHERS if other.ours == ours)
    return prepared_call(Plan(), other.work())


def growth_lines() -> Iterator[Line | str]:
    """Exponents of time and memory from the shortest to the longest of `GROWING`."""
    span = f"{GROWING[0]:,} to {GROWING[-1]:,}"
    there = [name for name in LINEAR_TIME if name in MECHANISMS]
    times: dict[str, list[list[float]]] = {name: [] for name in there}
    for length in GROWING:
        works = {name: _forward(name, lengths=GROWING) for name in there}
        for name, samples in rounds(works, FEW, length).items():
            times[name].append(samples)
    for name in there:
        fits = [growth(GROWING, of_round) for of_round in zip(*times[name], strict=True)]
        yield Line(f"{name}: time exponent, {span}", Spread.of([fit.exponent for fit in fits]), 1.1)
    for name in LINEAR_MEMORY:
        if name not in MECHANISMS:
            yield f"{name}: memory exponent: there is no mechanism '{name}' yet"
            continue
        fit = growth(GROWING, [_peak(name, length) for length in GROWING])
        yield Line(f"{name}: memory exponent, {span}", exactly(fit.exponent), 1.1)


def rounds(works: Mapping[str, Make], count: int, length: int = LENGTH) -> dict[str, list[float]]:
    """Seconds of every work, one sample a round, with new inputs in each; warm-up left out."""
    samples: dict[str, list[float]] = {name: [] for name in works}
    with ExitStack() as ends:
        runners = {name: Alone(make, torch.get_num_threads()) for name, make in works.items()}
        for runner in runners.values():
            ends.callback(runner.end)
            runner.ready()
        for number in range(count + 1):
            for name, runner in runners.items():
                time = runner.turn(length, number).seconds
                samples[name] += [time] if number else []
    return samples


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args(arguments).threads)
    sys.stdout.write(f"{HEADER}\n")
    met = True
    for line in chain(lines(), long.lines()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        met = met and (isinstance(line, str) or line.met)
    return 0 if met else 1


def _forward(name: str, is_causal: bool = False, lengths: tuple[int, ...] = (LENGTH,)) -> Make:
    return partial(prepared, Plan(lengths=lengths, causal=is_causal), name, "forward")


def _peak(name: str, length: int) -> float:
    inputs = fresh(Plan(), length, 0)
    one = work(MECHANISMS[name].attend, "forward", is_causal=False)
    return float(peak_bytes(lambda: one(inputs)))


if __name__ == "__main__":
    sys.exit(main())
