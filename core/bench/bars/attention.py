"""Bars: the table of `python -m core bench attention`, every bar beside what was measured.

Ratios inside one process, A B C A B C, fresh inputs in each round: N = 4,096, 8 heads of 64
dimensions, float32. A process of its own, as its number of threads is fixed.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.benchmark import Timer

from core.attention import MECHANISMS
from core.bench.bars import long
from core.bench.bars.others import OTHERS, missing
from core.bench.bars.report import HEADER, Line, exactly
from core.bench.memory import peak_bytes
from core.bench.results.curves import growth
from core.bench.sweep.measuring import Inputs, Work, fresh, work
from core.bench.sweep.plan import Plan
from core.bench.timing import Spread, interleaved, ratio
from core.capture.allocator import keep_freed_memory

SIZES = "N = 4,096"
LENGTH, ROUNDS, FEW = 4_096, 15, 7
GROWING = (2_048, 4_096, 8_192, 16_384)
AGAINST_FLASH = {
    "window": 1 / 6, "longformer": 1 / 5, "linear": 1 / 12, "favor": 0.3, "chunked": 2.0,
}  # fmt: skip
# What grows as the length: in time, and in memory.
LINEAR_TIME, LINEAR_MEMORY = ("linear", "window"), ("flash", "chunked", "linear", "window")


def lines() -> Iterator[Line | str]:
    """All measurements, one after another; a sentence in place of a line that cannot be had."""
    yield from bare()
    yield from beside_flash()
    yield from causal()
    yield from beside_others()
    yield from chunked_memory()
    yield from timer()
    yield from growth_lines()


def bare() -> Iterator[Line]:
    """Our exact mechanisms beside the bare calls that they stand on."""
    works = {
        "flash": _forward("flash"),
        "bare": lambda inputs: F.scaled_dot_product_attention(*inputs),
        "standard": _forward("standard"),
        "by hand": by_hand,
    }
    found = rounds(works, ROUNDS)
    what = f"our flash / bare F.scaled_dot_product_attention: {SIZES}"
    yield Line(what, ratio(found, "flash", "bare"), 1.02)
    what = f"our standard / matmul, softmax, matmul by hand: {SIZES}"
    yield Line(what, ratio(found, "standard", "by hand"), 1.05)


def by_hand(inputs: Inputs) -> Tensor:
    """Softmax attention as everybody writes it."""
    query, key, value = inputs
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
        theirs = other.work()
        works = {"ours": _forward(other.ours), "theirs": lambda inputs, call=theirs: call(*inputs)}
        yield Line(what, ratio(rounds(works, ROUNDS), "ours", "theirs"), other.bar)


def chunked_memory() -> Iterator[Line | str]:
    """The peak of chunked beside that of standard."""
    if "chunked" not in MECHANISMS:
        yield "chunked / standard, peak memory: there is no mechanism 'chunked' yet"
        return
    what = f"chunked / standard, peak memory: {SIZES}"
    yield Line(what, exactly(_peak("chunked", LENGTH) / _peak("standard", LENGTH)), 1 / 20)


def timer() -> Iterator[Line]:
    """Our timer beside torch.utils.benchmark on the same call; the larger over the smaller."""
    inputs = fresh(Plan(), LENGTH, 0)
    call = partial(_forward("flash"), inputs)
    theirs = Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
    samples: dict[str, list[float]] = {"ours": [], "theirs": []}
    theirs.timeit(1)
    for done in range(ROUNDS):
        for name in ("ours", "theirs") if done % 2 else ("theirs", "ours"):
            one = interleaved({name: call}, rounds=1, warm_up=False)[name][0]
            samples[name].append(one if name == "ours" else theirs.timeit(1).mean)
    found = ratio(samples, "ours", "theirs")
    if found.median < 1:
        found = ratio(samples, "theirs", "ours")
    yield Line("our timer / torch.utils.benchmark, whichever is larger", found, 1.03)


def growth_lines() -> Iterator[Line | str]:
    """Exponents of time and memory from the shortest to the longest of `GROWING`."""
    span = f"{GROWING[0]:,} to {GROWING[-1]:,}"
    there = [name for name in LINEAR_TIME if name in MECHANISMS]
    times: dict[str, list[list[float]]] = {name: [] for name in there}
    for length in GROWING:
        for name, samples in rounds({name: _forward(name) for name in there}, FEW, length).items():
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


def rounds(works: dict[str, Work], count: int, length: int = LENGTH) -> dict[str, list[float]]:
    """Seconds of every work, one sample a round, with new inputs in each; warm-up left out."""
    samples: dict[str, list[float]] = {name: [] for name in works}
    for number in range(count + 1):
        inputs = fresh(Plan(), length, number)
        with torch.inference_mode():
            bound = {name: partial(each, inputs) for name, each in works.items()}
            once = interleaved(bound, rounds=1, warm_up=False)
        for name, times in once.items():
            samples[name] += times if number else []
    return samples


def main(arguments: list[str] | None = None) -> int:
    """Print the table; 1 if a bar is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    torch.set_num_threads(parser.parse_args(arguments).threads)
    keep_freed_memory()
    sys.stdout.write(f"{HEADER}\n")
    met = True
    for line in chain(lines(), long.lines()):
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        met = met and (isinstance(line, str) or line.met)
    return 0 if met else 1


def _forward(name: str, is_causal: bool = False) -> Callable[[Inputs], Tensor]:
    return work(MECHANISMS[name].attend, "forward", is_causal)


def _peak(name: str, length: int) -> float:
    inputs = fresh(Plan(), length, 0)
    return float(peak_bytes(lambda: _forward(name)(inputs)))


if __name__ == "__main__":
    sys.exit(main())
