"""Saved: a plan and its results as one JSON text, raw samples included."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple, TypeVar

from core.bench.sweep.messages import Message, Progress, from_dict, to_dict
from core.bench.sweep.plan import Origin, Plan
from core.errors import InputError

FORMAT = 1
Kind = TypeVar("Kind")


class Results(NamedTuple):
    """What a sweep has measured so far."""

    plan: Plan
    messages: tuple[Message, ...]
    finished: bool  # False: it was cut off, or still runs


def to_json(results: Results) -> str:
    """The whole as text; progress is left out."""
    messages = [to_dict(each) for each in results.messages if not isinstance(each, Progress)]
    saved = {
        "format": FORMAT,
        "finished": results.finished,
        "plan": asdict(results.plan),
        "results": messages,
    }
    return json.dumps(saved, indent=1)


def from_json(text: str) -> Results:
    """The results again.

    Raises:
        InputError: if the text is not one of ours.
    """
    try:
        saved = json.loads(text)
        messages = tuple(from_dict(each) for each in saved["results"])
        return Results(plan_from_dict(saved["plan"]), messages, saved["finished"])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            "A file that `bench attention --out` wrote was wanted; this is not one."
        ) from error


def plan_from_dict(told: dict) -> Plan:
    """The plan whose fields these are."""
    fields = {name: tuple(each) if isinstance(each, list) else each for name, each in told.items()}
    origin = fields.pop("origin", None)
    return Plan(**fields, origin=None if origin is None else Origin(**origin))


def save(path: Path, results: Results) -> None:
    """Write the file anew; a reader, or a power cut, never meets half of one.

    Raises:
        InputError: if it cannot be written.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(to_json(results), encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise InputError(f"'{path}' cannot be written: {error.strerror}.") from error


def of_kind(messages: Iterable[Message], kind: type[Kind]) -> list[Kind]:
    """The messages of one kind, in order."""
    return [message for message in messages if isinstance(message, kind)]
