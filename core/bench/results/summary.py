"""Summary: what the results of a sweep say, in numbers and in one sentence."""

from dataclasses import dataclass

from core.attention import MECHANISMS
from core.bench.results.curves import Crossing, Growth, crossings, growth
from core.bench.sweep.estimate import Pass
from core.bench.sweep.messages import Accuracy, Machine, Memory, Timing
from core.bench.sweep.plan import Origin
from core.bench.sweep.saved import Results, of_kind
from core.bench.timing import Spread

UNTESTED = 1e-5  # total variation of maps that differ by rounding only
BUSY = "This machine is too busy to tell: close other programs, and run it again."


@dataclass(frozen=True)
class Verdict:
    """The cheapest mechanism at a length beside the base mechanism, and what it costs in error."""

    length: int
    device: str
    fastest: str
    base: str
    times_faster: Spread  # base's time / fastest's, round by round
    told_apart: bool  # False: the two differ less than the base differs from itself
    total_variation: float | None  # of the fastest; None where it is exact, or was not checked
    busy: bool = False  # the rounds differ too much to tell anything, though they were repeated
    origin: Origin | None = None  # whose q, k and v these are; None: random ones

    def sentence(self) -> str:
        """In words."""
        where = "CPU" if self.device == "cpu" else "GPU"
        at = f"At {self.length:,} tokens on this {where}, "
        if self.origin is not None:
            positions = "tokens" if self.origin.kind == "sentence" else "positions"
            at = f"On your {self.origin.kind}, {self.length:,} {positions}, on this {where}, "
        if self.fastest == self.base:
            return f"{at}nothing that was measured is faster than {self.base}."
        if not self.told_apart:
            return f"{at}{self.fastest} and {self.base} take the same time, as far as one can tell."
        faster = f"{at}{self.fastest} is {between(self.times_faster)} faster than {self.base}"
        if self.busy:
            return f"{faster}: that is no result. {BUSY}"
        if self.total_variation is None:
            return f"{faster}, and its map is the same."
        if self.total_variation < UNTESTED:
            return f"{faster}. {untested(self.fastest, self.length)}"
        return f"{faster}, but its map differs by {self.total_variation:.2f} (total variation)."


def times(number: float) -> str:
    """How many times: '15 x', '1.3 x'."""
    return f"{number:,.0f} x" if number >= 9.95 else f"{number:.1f} x"


def between(ratio: Spread) -> str:
    """How many times, with its quartiles: '15 x (14 x to 16 x)'."""
    return f"{times(ratio.median)} ({times(ratio.low)} to {times(ratio.high)})"


def untested(mechanism: str, length: int) -> str:
    """What is said where an approximation does what softmax does."""
    return (
        f"At {length:,} positions {mechanism} reaches every key and gives softmax's own map: "
        "nothing of what it leaves out was tested."
    )


def is_untested(found: Accuracy) -> bool:
    """Is the map of an approximation softmax's own, to rounding?"""
    return not MECHANISMS[found.mechanism].exact and found.worst_variation < UNTESTED


def unsure(results: Results) -> list[tuple[str, int]]:
    """Mechanisms and lengths whose rounds tell nothing, though they were repeated."""
    timings = of_kind(results.messages, Timing)
    bases = {(each.length, each.kind): each for each in timings if each.noise is not None}
    found = []
    for each in timings:
        base = bases.get((each.length, each.kind))
        if base is not None and (each.noise or against(each, base)).wide:
            found.append((each.mechanism, each.length))
    return list(dict.fromkeys(found))


def verdict(results: Results, length: int | None = None) -> Verdict | None:
    """The verdict at a length, or at the longest with two mechanisms; None before there is one.

    Forward calls are compared.
    """
    timings = [each for each in of_kind(results.messages, Timing) if each.kind == "forward"]
    lengths = [each.length for each in timings]
    shared = [each for each in lengths if lengths.count(each) > 1]
    length = max(shared, default=None) if length is None else length
    there = {each.mechanism: each for each in timings if each.length == length}
    if len(there) < 2:
        return None
    exact = [mechanism for mechanism in there if MECHANISMS[mechanism].exact]
    base = next(
        (mechanism for mechanism in (results.plan.base, *exact, *there) if mechanism in there), None
    )
    fastest = min(there, key=lambda mechanism: there[mechanism].spread.median)
    noise = there[base].noise
    ratio = against(there[base], there[fastest])
    variation = None if MECHANISMS[fastest].exact else _variation(results, fastest, length)
    return Verdict(
        length=length, device=results.plan.device, fastest=fastest, base=base,
        times_faster=ratio,
        told_apart=noise is None or ratio.median > max(noise.high, 1 / noise.low),
        total_variation=variation, busy=ratio.wide, origin=results.plan.origin,
    )  # fmt: skip


def against(one: Timing, other: Timing) -> Spread:
    """One mechanism's time as a share of the other's, round by round."""
    return Spread.of([a / b for a, b in zip(one.samples, other.samples, strict=True)])


def time_growth(results: Results, mechanism: str, kind: Pass = "forward") -> Growth | None:
    """How a mechanism's time grows with the length; None before there are two lengths."""
    found = _timings(results, mechanism, kind)
    return growth(list(found), [each.spread.median for each in found.values()])


def memory_growth(results: Results, mechanism: str, kind: Pass = "forward") -> Growth | None:
    """How a mechanism's peak grows with the length; None before there are two lengths."""
    found = [
        each
        for each in of_kind(results.messages, Memory)
        if (each.mechanism, each.kind) == (mechanism, kind) and each.measured
    ]
    return growth([each.length for each in found], [float(each.measured) for each in found])


def crossovers(results: Results, one: str, other: str, kind: Pass = "forward") -> list[Crossing]:
    """Lengths where two mechanisms take the same time."""
    ours, theirs = _timings(results, one, kind), _timings(results, other, kind)
    lengths = sorted(ours.keys() & theirs.keys())
    return crossings(lengths, [against(ours[each], theirs[each]) for each in lengths])


def share_of_limit(results: Results, timing: Timing) -> float | None:
    """The machine's limit as a share of the time taken: 1 cannot be bettered."""
    machines = of_kind(results.messages, Machine)
    limit = machines[-1].limit(timing) if machines else None
    return None if limit is None else limit / timing.spread.median


def _timings(results: Results, mechanism: str, kind: Pass) -> dict[int, Timing]:
    return {
        each.length: each
        for each in of_kind(results.messages, Timing)
        if (each.mechanism, each.kind) == (mechanism, kind)
    }


def _variation(results: Results, mechanism: str, length: int) -> float | None:
    found = [
        each.total_variation
        for each in of_kind(results.messages, Accuracy)
        if (each.mechanism, each.length) == (mechanism, length)
    ]
    return found[-1] if found else None
