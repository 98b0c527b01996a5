"""Table of the lab: every mechanism at one length, beside the one that all are compared with."""

import pandas as pd

from app.charts.sweep import unit_of
from app.words import say
from core.attention import title_of
from core.bench.results.summary import against, is_untested, share_of_limit, time_growth
from core.bench.results.tidy import throughput
from core.bench.sweep.estimate import in_bytes
from core.bench.sweep.messages import Accuracy, Memory, Refused, Timing
from core.bench.sweep.saved import Results, of_kind


def table(results: Results, length: int) -> pd.DataFrame:
    """One row a mechanism; empty cells where nothing was measured."""
    timings = {
        each.mechanism: each
        for each in of_kind(results.messages, Timing)
        if each.length == length and each.kind == "forward"
    }
    accuracies = {
        each.mechanism: each
        for each in of_kind(results.messages, Accuracy)
        if each.length == length
    }
    peaks = {
        each.mechanism: each
        for each in of_kind(results.messages, Memory)
        if each.length == length and each.kind == "forward"
    }
    base = timings.get(results.plan.base)
    rows = []
    for mechanism in results.plan.mechanisms:
        timing, accuracy, peak = (
            timings.get(mechanism),
            accuracies.get(mechanism),
            peaks.get(mechanism),
        )
        growth = time_growth(results, mechanism)
        ratio = against(timing, base) if timing and base else None
        done = throughput(results, timing) if timing else None
        rows.append(
            {
                say("lab_mechanism"): title_of(mechanism),
                say("lab_milliseconds"): timing and 1000 * timing.spread.median,
                say("lab_ratio", base=title_of(results.plan.base)): ratio and ratio.median,
                say("lab_quartiles"): ratio and f"{ratio.low:.3g} to {ratio.high:.3g}",
                say("lab_tokens"): done and done.tokens,
                say("lab_flops"): done and done.flops and done.flops / 1e9,
                say("lab_share"): done and done.share,
                say("lab_limit"): timing and share_of_limit(results, timing),
                say("lab_growth"): growth and growth.exponent,
                say("lab_peak"): peak and peak.measured and peak.measured / 1e6,
                say("lab_formula"): peak and peak.formula and peak.formula / 1e6,
                say("lab_variation"): accuracy and accuracy.total_variation,
                say("lab_error"): accuracy and accuracy.output_error,
                say("lab_entropy"): accuracy and accuracy.entropy,
            }
        )
    # One length has no exponent, a call with a mask no formula: a column of nothing tells nothing.
    return pd.DataFrame(rows).dropna(axis="columns", how="all")


def notes(results: Results, length: int) -> list[str]:
    """What was not measured, what does not agree with its formula, and the noise floor."""
    said = [
        f"{title_of(each.mechanism)}, {each.length:,}: {each.reason}"
        for each in of_kind(results.messages, Refused)
    ]
    said += [
        say(
            "lab_differs", name=title_of(each.mechanism), length=each.length,
            unit=unit_of(results.plan), measured=in_bytes(each.measured),
            formula=in_bytes(each.formula),
        )
        for each in of_kind(results.messages, Memory)
        if each.warning
    ]  # fmt: skip
    said += [
        say("lab_untested", name=title_of(each.mechanism), length=length)
        for each in of_kind(results.messages, Accuracy)
        if each.length == length and is_untested(each)
    ]
    for each in of_kind(results.messages, Timing):
        if each.length == length and each.kind == "forward" and each.noise is not None:
            noise = each.noise
            title = title_of(each.mechanism)
            said.append(say("lab_noise", name=title, low=noise.low, high=noise.high))
    return said


def lengths(results: Results) -> list[int]:
    """The lengths of which something was timed."""
    return sorted({each.length for each in of_kind(results.messages, Timing)})
