"""The q, k and v of a model for `bench attention`, in place of random ones."""

import argparse
import sys
from collections.abc import Collection

from core.bench.sweep.model_inputs import ModelCall, record_call
from core.cli.loading import load
from core.cli.parsers.facts import OFFLINE_MODEL
from core.cli.progress import bar
from core.errors import InputError
from core.models import tower_for
from core.models.vision.images import open_picture

OPTIONS = ("text", "picture", "model", "layer")
SIZES = ("lengths", "batch", "heads", "dim", "causal", "seed")  # that the model's call has itself


def from_model(options: argparse.Namespace) -> bool:
    """Is any option set that asks for the q, k and v of a model?"""
    return any(getattr(options, name) is not None for name in OPTIONS)


def model_call(options: argparse.Namespace, chosen: Collection[str]) -> ModelCall:
    """q, k and v of a layer of a model, for the text or the picture.

    Args:
        options: all of the command.
        chosen: names of the options of the plan that are set.

    Raises:
        InputError: if they do not go together, or the model or its input does not allow it.
    """
    if (options.text is None) == (options.picture is None):
        came = "neither" if options.text is None else "both"
        raise InputError(f"--text or --picture was wanted for a model to read; {came} came.")
    for name in SIZES:
        if name in chosen:
            raise InputError(
                f"The model and its input give --{name}: leave it out beside --text or --picture."
            )
    kind = "vision" if options.text is None else "text"
    name = options.model or OFFLINE_MODEL[kind]
    model = load(name, options.device or "cpu", options.precision or "float32")
    read = options.text if kind == "text" else open_picture(options.picture, options.picture.name)
    found = record_call(
        tower_for(model, kind), read, options.layer or 0, on_call=bar(f"running {name}")
    )
    for note in found.notes:
        sys.stderr.write(f"{note}\n")
    return found
