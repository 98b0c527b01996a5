"""Tidy: a sweep as one table, a row a measurement, numbers as numbers; and what it comes to."""

from typing import NamedTuple

import pandas as pd

from core.bench.results.summary import against, share_of_limit
from core.bench.sweep.messages import Accuracy, Machine, Memory, Timing
from core.bench.sweep.saved import Results, of_kind


class Throughput(NamedTuple):
    """What a time comes to; None where there is no formula."""

    tokens: float  # a second, through this one call: of all sequences, or one each in decoding
    flops: float | None  # a second, of those that have to be done
    share: float | None  # of what this machine's products reach


def throughput(results: Results, timing: Timing) -> Throughput:
    """Tokens and operations a second, by the median time."""
    seconds = timing.spread.median
    query, _ = results.plan.shapes(timing.length)
    flops = None if timing.flops is None else timing.flops / seconds
    machines = of_kind(results.messages, Machine)
    share = flops / machines[-1].flops if flops is not None and machines else None
    return Throughput(query[0] * query[2] / seconds, flops, share)


def frame(results: Results) -> pd.DataFrame:
    """Every timing with its memory and its error; times in milliseconds, memory in bytes.

    `pandas.read_csv` reads the table back as it is. Columns: assets/lab-results.md.
    """
    about = settings(results)
    return pd.DataFrame(
        [{**row(results, timing), **about} for timing in of_kind(results.messages, Timing)]
    )


def row(results: Results, timing: Timing) -> dict[str, object]:
    """One measurement."""
    (batch, _, queries, _), (_, _, keys, _) = results.plan.shapes(timing.length)
    spread, done = timing.spread, throughput(results, timing)
    return {
        "mechanism": timing.mechanism,
        "pass": timing.kind,
        "batch": batch,
        "queries": queries,
        "keys": keys,
        "ms_median": 1000 * spread.median,
        "ms_low": 1000 * spread.low,
        "ms_high": 1000 * spread.high,
        "ms_first": 1000 * timing.warm_up,
        **_ratio(results, timing),
        "tries": timing.tries,
        "tokens_per_second": done.tokens,
        "flops_per_second": done.flops,
        "share_of_peak": done.share,
        "share_of_limit": share_of_limit(results, timing),
        **_memory(results, timing),
        **_accuracy(results, timing),
    }


def settings(results: Results) -> dict[str, object]:
    """What is the same in every row: sizes, machine and versions."""
    plan, machines = results.plan, of_kind(results.messages, Machine)
    machine = machines[-1] if machines else None
    versions = {} if machine is None else machine.versions
    return {
        "heads": plan.heads,
        "kv_heads": plan.shared_heads,
        "dim": plan.dim,
        "precision": plan.precision,
        "causal": plan.causal,
        "rounds": plan.rounds,
        "threads": plan.threads,
        "seed": plan.seed,
        "memory_kept": plan.keep_memory,
        "device": plan.device,
        "device_name": machine and machine.name,
        "model": plan.origin and plan.origin.model,
        "layer": plan.origin and plan.origin.layer,
        "finished": results.finished,
        **{f"version_{name}": version for name, version in versions.items()},
    }


def beside(today: Results, before: Results) -> pd.DataFrame:
    """Both runs' forward calls of the same mechanism and sizes; `ratio` is today's time / before's.

    Medians of two runs, at two times or on two machines: no pairs, so no interval of the ratio.
    """
    keys = ["mechanism", "batch", "queries", "keys", "heads", "kv_heads", "dim", "precision"]
    keys += ["causal"]
    numbers = ["ms_median", "ms_low", "ms_high"]
    tables = [frame(run) for run in (today, before)]
    if any(table.empty for table in tables):
        return pd.DataFrame()
    one, two = (table[table["pass"] == "forward"][keys + numbers] for table in tables)
    both = one.merge(two, on=keys, suffixes=("", "_before"))
    return both.assign(ratio=both["ms_median"] / both["ms_median_before"])


def to_csv(results: Results) -> str:
    """The table as CSV, without remarks."""
    return frame(results).to_csv(index=False)


def _ratio(results: Results, timing: Timing) -> dict[str, object]:
    base = next(
        (
            each
            for each in of_kind(results.messages, Timing)
            if (each.mechanism, each.length, each.kind)
            == (results.plan.base, timing.length, timing.kind)
        ),
        None,
    )
    ratio = None if base is None else against(timing, base)
    return {
        "base": results.plan.base,
        "ratio_median": ratio and ratio.median,
        "ratio_low": ratio and ratio.low,
        "ratio_high": ratio and ratio.high,
    }


def _memory(results: Results, timing: Timing) -> dict[str, object]:
    found = _of(results, Memory, timing)
    found = [each for each in found if each.kind == timing.kind]
    return {
        "peak_bytes": found[-1].measured if found else None,
        "peak_bytes_by_formula": found[-1].formula if found else None,
    }


def _accuracy(results: Results, timing: Timing) -> dict[str, object]:
    names = ("output_error", "total_variation", "worst_variation", "entropy", "softmax_entropy")
    found = _of(results, Accuracy, timing)
    return {name: getattr(found[-1], name) if found else None for name in names}


def _of(results: Results, kind: type, timing: Timing) -> list:
    return [
        each
        for each in of_kind(results.messages, kind)
        if (each.mechanism, each.length) == (timing.mechanism, timing.length)
    ]
