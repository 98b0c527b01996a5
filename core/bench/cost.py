"""Cost: what one run took in time and memory, and how far its output moved from the model's own."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F

from core.attention import MECHANISMS
from core.bench.memory import peak_bytes
from core.bench.timing import ROUNDS, Spread, interleaved, ratio, seconds
from core.capture import capture
from core.capture.trace import AttentionCall
from core.models.model import Model, memory_explained
from core.models.run import Output, Prepared, Run

SLOW = 3.0  # seconds: a pass longer than this is timed once, and the page says so


@dataclass(frozen=True)
class Comparison:
    """A mechanism beside the model's own attention, measured in the same rounds."""

    milliseconds: Spread  # of the model's own attention
    speed: Spread  # own time / mechanism's time: 2 is twice as fast
    memory: float | None  # own attention peak / mechanism's
    cosine: float  # of the final hidden states, averaged over positions; 1 is no drift


@dataclass(frozen=True)
class Cost:
    """What a run costs; None where the device cannot tell."""

    kernel: str
    milliseconds: Spread
    passes: int
    attention_bytes: int | None  # the most that one attention call holds
    pass_bytes: int | None  # the most that the whole forward pass holds
    kept_bytes: int  # what the trace keeps
    error: float | None  # largest |weights @ v - output| of the checked rows
    against_own: Comparison | None = None  # only when another mechanism is on


def measure(model: Model, run: Run, on_step: Callable[[float], None] | None = None) -> Cost:
    """Time and memory of a run's forward pass, in passes that record nothing.

    The run itself was the warm-up. With another mechanism than the model's own, both run in turn.
    """
    prepared, outputs = run.prepared, {}

    def forward(name: str, mechanism: str | None, on_call: Callable[[int], None] | None) -> None:
        if mechanism is None and on_call is None:
            outputs[name] = model.forward(prepared)
            return
        with capture(mechanism, grid=prepared.grid, record=False, on_call=on_call):
            outputs[name] = model.forward(prepared)

    def tell(count: int) -> None:
        if on_step is not None:
            on_step(min(1.0, count / len(run.trace.calls)))

    mechanisms = {"run": run.mechanism} | ({"own": None} if run.mechanism else {})
    works = {
        name: partial(forward, name, mechanism, None) for name, mechanism in mechanisms.items()
    }
    with torch.inference_mode(), memory_explained(run.model):
        # Told call by call, as these may be long, and then the only ones.
        first = {
            name: seconds(partial(forward, name, mechanism, tell), model.device)
            for name, mechanism in mechanisms.items()
        }
        slow = max(first.values()) > SLOW
        samples = {name: [time] for name, time in first.items()}
        if not slow:
            samples = interleaved(
                works, rounds=ROUNDS, warm_up=False, device=model.device, on_round=on_step
            )
        largest = max(run.trace.calls, key=_scores)
        pass_bytes = None if slow else peak_bytes(works["run"], model.device)
        attention = attention_peak(largest)
        own = None if run.mechanism is None else attention_peak(largest, own=True)
    comparison = None
    if run.mechanism is not None:
        comparison = Comparison(
            milliseconds=Spread.of([1000 * sample for sample in samples["own"]]),
            speed=ratio(samples, "own", "run"),
            memory=own / attention if own and attention else None,
            cosine=drift(prepared, outputs["run"], outputs["own"]),
        )
    return Cost(
        kernel=run.trace.kernels,
        milliseconds=Spread.of([1000 * sample for sample in samples["run"]]),
        passes=len(samples["run"]),
        attention_bytes=attention,
        pass_bytes=pass_bytes,
        kept_bytes=run.trace.nbytes,
        error=run.trace.error,
        against_own=comparison,
    )


def attention_peak(call: AttentionCall, *, own: bool = False) -> int | None:
    """Peak bytes of one recorded call run again by itself, by its mechanism or by torch's choice.

    The value has the key's shape and random content: memory does not depend on what it holds.
    """
    if call.model_weights is not None:
        return None
    value = torch.randn_like(call.key)
    if call.mechanism is None or own:
        grouped = call.key.shape[1] != call.heads
        return peak_bytes(
            lambda: F.scaled_dot_product_attention(
                call.query,
                call.key,
                value,
                attn_mask=call.mask,
                is_causal=call.is_causal,
                scale=call.scale,
                enable_gqa=grouped,
            ),
            call.query.device,
        )
    mechanism = MECHANISMS[call.mechanism]
    how = {"mask": call.mask, "is_causal": call.is_causal, "scale": call.scale, "grid": call.grid}
    return peak_bytes(
        lambda: mechanism.attend(call.query, call.key, value, **how), call.query.device
    )


def _scores(call: AttentionCall) -> int:
    """Pairs that a call scores, in all heads and windows."""
    return call.query.shape[:3].numel() * call.key.shape[2]


def drift(prepared: Prepared, output: Output, own: Output) -> float:
    """Cosine between final hidden states, averaged over the positions that are not padding.

    1 is no drift. The first group's queries are the positions that the hidden states belong to; a
    Swin's are fewer, and none of them is padding.
    """
    group = prepared.groups[0]
    first = group.first_query or (0,) * len(group.queries)
    cosines = F.cosine_similarity(output.hidden.float(), own.hidden.float(), dim=-1)
    read = [
        cosines[item, start : start + len(positions)]
        for item, (start, positions) in enumerate(zip(first, group.queries, strict=True))
    ]
    return torch.cat(read).mean().item()
