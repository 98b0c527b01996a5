"""The part of `bench attention` that measures on the q, k and v of a model, not on random ones."""

import argparse
import sys
from collections.abc import Collection
from pathlib import Path

from core import models
from core.bench.sweep.model_inputs import ModelCall, record_call
from core.cli import maps
from core.errors import InputError
from core.models.vision.images import open_picture

OPTIONS = ("text", "picture", "model", "layer")
SIZES = ("lengths", "batch", "heads", "dim", "causal", "seed")  # that the model's call has itself
USUAL = {"text": "minilm", "vision": "focus-vit"}


def add_options(command: argparse.ArgumentParser) -> None:
    """What is read, by which model, and whose call is taken."""
    own = command.add_argument_group("on the q, k and v of a model, in place of random ones")
    own.add_argument("--text", help="that the model reads")
    own.add_argument("--picture", type=Path, metavar="FILE", help="that the model looks at")
    usual = f"default {USUAL['text']} for a text, {USUAL['vision']} for a picture"
    own.add_argument("--model", help=usual)
    own.add_argument("--layer", type=int, metavar="N", help="whose call it is (default 0)")


def asked(given: argparse.Namespace) -> bool:
    """Was any of the options given?"""
    return any(getattr(given, name) is not None for name in OPTIONS)


def taken(given: argparse.Namespace, chosen: Collection[str]) -> ModelCall:
    """q, k and v of a layer of a model, for the text or the picture that was given.

    Args:
        given: all options.
        chosen: names of the options of the plan that were given.

    Raises:
        InputError: if they do not go together, or the model or its input does not allow it.
    """
    if (given.text is None) == (given.picture is None):
        came = "neither" if given.text is None else "both"
        raise InputError(f"--text or --picture was wanted for a model to read; {came} came.")
    for name in SIZES:
        if name in chosen:
            raise InputError(
                f"The model and its input give --{name}: leave it out beside --text or --picture."
            )
    kind = "vision" if given.text is None else "text"
    name = given.model or USUAL[kind]
    model = models.load(
        name, device=given.device or "cpu", precision=given.precision or "float32",
        on_progress=maps.bar(f"fetching {name}"),
    )  # fmt: skip
    read = given.text if kind == "text" else open_picture(given.picture, given.picture.name)
    found = record_call(
        models.tower_for(model, kind), read, given.layer or 0, on_call=maps.bar(f"running {name}")
    )
    for note in found.notes:
        sys.stderr.write(f"{note}\n")
    return found
