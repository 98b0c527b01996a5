"""Crossovers of the lab: from which length on a mechanism is cheaper than the base, in words."""

import math

from app.charts.sweep import unit_of
from app.words import say
from core.attention import title_of
from core.bench.results.curves import Crossing
from core.bench.results.standing import Standing, standings
from core.bench.sweep.saved import Results


def sentences(results: Results) -> list[str]:
    """One for each mechanism beside the base."""
    return [sentence(each, unit_of(results.plan)) for each in standings(results)]


def sentence(standing: Standing, unit: str) -> str:
    """What the measured lengths tell, and no more; what a fitted curve tells is called that."""
    names = {
        "name": title_of(standing.mechanism),
        "base": title_of(standing.base),
        "unit": unit,
        "shortest": standing.shortest,
        "longest": standing.longest,
    }
    if len(standing.crossings) == 1:
        (crossing,) = standing.crossings
        key = {True: "from", False: "up_to", None: "meets"}[standing.cheaper]
        between = uncertainty(crossing)
        return say(f"lab_cheaper_{key}", at=crossing.length, between=between, **names)
    if standing.crossings:
        first, last = standing.crossings[0].length, standing.crossings[-1].length
        return say("lab_cheaper_changes", first=first, last=last, **names)
    if standing.cheaper is None:
        return say("lab_cheaper_same", **names)
    text = say("lab_cheaper_always" if standing.cheaper else "lab_cheaper_never", **names)
    if standing.beyond is None:
        return text
    return f"{text} {say('lab_cheaper_beyond', at=rounded(standing.beyond))}"


def uncertainty(crossing: Crossing) -> str:
    """Between which lengths the quartiles cross, in brackets."""
    low, high = crossing.low, crossing.high
    if low is not None and high is not None:
        return say("lab_between", low=low, high=high)
    if low is None and high is None:
        return say("lab_between_unknown")
    if low is None:
        return say("lab_between_to", high=high)
    return say("lab_between_from", low=low)


def rounded(length: float) -> int:
    """Up to two digits: a fitted curve tells no more, and it is beyond what was measured."""
    step = 10 ** max(0, math.floor(math.log10(length)) - 1)
    return math.ceil(round(length / step, 3)) * step
