"""Table of a whole model: every mechanism in all layers, and in those that were chosen."""

import pandas as pd

from app.words import say
from core.attention import MECHANISMS
from core.bench.model.layers import in_words
from core.bench.model.measuring import Measured
from core.bench.model.study import ModelStudy


def table(study: ModelStudy) -> pd.DataFrame:
    """One row a mechanism; empty cells where nothing was measured, and no column that is empty."""
    rows = [
        {
            say("lab_whole_mechanism"): title(each.variant.mechanism),
            say("lab_whole_layers"): in_words(each.variant.layers, study.layers),
            say("lab_whole_milliseconds"): each.milliseconds and each.milliseconds.median,
            say("lab_whole_ratio"): each.ratio and each.ratio.median,
            say("lab_whole_quartiles"): quartiles(each),
            say("lab_whole_peak"): each.peak_bytes and each.peak_bytes / 1e6,
            say("lab_whole_cosine"): each.drift and each.drift.cosine,
            say("lab_whole_error"): each.drift and each.drift.error,
            say("lab_whole_first"): first(each),
        }
        for each in study.variants
    ]
    data = pd.DataFrame(rows).dropna(axis="columns", how="all")
    if study.chosen is None:  # every row would say that it is of all layers
        data = data.drop(columns=say("lab_whole_layers"))
    return data


def quartiles(each: Measured) -> str | None:
    """Between which shares of the own time half of the rounds lie; one round has none."""
    if len(each.samples) < 2:
        return None
    return f"{each.ratio.low:.3g} to {each.ratio.high:.3g}"


def notes(study: ModelStudy) -> list[str]:
    """Why a mechanism has no numbers, each reason once."""
    refused = {
        title(each.variant.mechanism): each.refused for each in study.variants if each.refused
    }
    return [f"{name}: {reason}" for name, reason in refused.items()]


def title(mechanism: str | None) -> str:
    """The mechanism as a person reads it."""
    return say("lab_whole_own") if mechanism is None else MECHANISMS[mechanism].title


def first(each: Measured) -> str | None:
    """The likeliest prediction of the first text or picture, and what became of the former one."""
    if each.drift is None or not each.drift.shifts:
        return None
    shift = each.drift.shifts[0]
    now = say("lab_whole_stayed", label=shift.now.label, probability=shift.now.probability)
    if shift.stayed:
        return now
    own = say("lab_whole_out") if shift.own_now is None else f"{shift.own_now:.2f}"
    return say("lab_whole_changed", now=now, label=shift.own.label, own=own)
