"""Standing: which of two mechanisms is cheaper, from which length on, and how sure that is."""

import math
from dataclasses import dataclass

from core.bench.results.curves import Crossing, Growth
from core.bench.results.summary import against, crossovers, time_growth
from core.bench.sweep.messages import Timing
from core.bench.sweep.saved import Results, of_kind

FAR = 32  # times the longest length: a line that was fitted tells nothing further out


@dataclass(frozen=True)
class Standing:
    """One mechanism's time beside another's, over the lengths that were measured."""

    mechanism: str
    base: str
    shortest: int
    longest: int
    crossings: tuple[Crossing, ...]
    cheaper: bool | None  # at the longest length; None: the base differs as much from itself
    beyond: float | None  # the longer length where the fitted curves would meet

    @property
    def always(self) -> bool:
        """Is it the same mechanism that is cheaper at every length?"""
        return not self.crossings and self.cheaper is not None


def standings(results: Results) -> list[Standing]:
    """Every mechanism beside the base; nothing before two lengths of both are there."""
    timings = {
        (each.mechanism, each.length): each
        for each in of_kind(results.messages, Timing)
        if each.kind == "forward"
    }
    base = results.plan.base
    found = []
    for mechanism in results.plan.mechanisms:
        lengths = sorted(n for name, n in timings if name == mechanism and (base, n) in timings)
        if mechanism == base or len(lengths) < 2:
            continue
        longest = lengths[-1]
        crossings = tuple(crossovers(results, mechanism, base))
        growths = (time_growth(results, each) for each in (mechanism, base))
        found.append(
            Standing(
                mechanism, base, lengths[0], longest, crossings,
                cheaper=_cheaper(timings[mechanism, longest], timings[base, longest]),
                beyond=_meeting(*growths, longest),
            )
        )  # fmt: skip
    return found


def _cheaper(one: Timing, base: Timing) -> bool | None:
    ratio, noise = against(one, base).median, base.noise
    low, high = (1, 1) if noise is None else (noise.low, noise.high)
    if min(low, 1 / high) <= ratio <= max(high, 1 / low):
        return None
    return ratio < 1


def _meeting(one: Growth | None, base: Growth | None, longest: int) -> float | None:
    """Where two fitted curves meet beyond the longest length, if their exponents surely differ."""
    if one is None or base is None or one.error is None or base.error is None:
        return None
    apart = base.exponent - one.exponent
    if abs(apart) <= one.error + base.error:
        return None
    length = math.exp(math.log(one.factor / base.factor) / apart)
    return length if longest < length <= FAR * longest else None
