"""`python -m core train clip-mini`: fetch, compute, train, save and measure."""

import argparse
import sys
import time

import torch

from core.capture.allocator import keep_freed_memory
from core.errors import InputError
from core.models import clip_mini
from core.models.clip_mini import ASSET, ClipParts
from core.models.clip_mini.head import Head
from core.models.clip_mini.training.catalogue import Item, catalogue
from core.models.clip_mini.training.data import data_folder, fetch_all
from core.models.clip_mini.training.evaluation import HEADER
from core.models.clip_mini.training.measuring import scores
from core.models.clip_mini.training.preparing import lessons
from core.models.clip_mini.training.splits import HELD_OUT, VALIDATION, Split, split
from core.models.clip_mini.training.training import Plan, Student, train


def run(options: argparse.Namespace) -> int:
    """Train and measure; 1 if a bar is not met.

    Raises:
        InputError: if the pictures cannot be had, or the file cannot be written.
    """
    file = options.out or ASSET
    if options.validate and file == ASSET and not options.evaluate_only:
        raise InputError(
            "A file for a head that learned from less was wanted (--out); it does not replace the "
            "asset."
        )
    keep_freed_memory()
    started = time.monotonic()
    items = catalogue(fetch_all(show))
    measured, unused = (VALIDATION, HELD_OUT) if options.validate else (HELD_OUT, frozenset())
    parts, chosen = clip_mini.untrained(), split(items, measured, unused)
    if options.evaluate_only:
        clip_mini.load_head(parts.module, file)
    else:
        trained(parts, items, chosen, options)
        clip_mini.save_head(parts.module, file)
        minutes = (time.monotonic() - started) / 60
        sys.stdout.write(f"{file}, after {minutes:.0f} minutes\n")
        # What is measured is what was saved, rounded to float16.
        clip_mini.load_head(parts.module, file)
    sys.stdout.write(f"{HEADER}\n")
    # Photographs are no matter of choice: a validation run does not look at them.
    reached = scores(parts, items, chosen, photographs=not options.validate)
    for score in reached:
        sys.stdout.write(f"{score}\n")
    return 0 if all(score.met for score in reached) else 1


def trained(
    parts: ClipParts, items: list[Item], chosen: Split, options: argparse.Namespace
) -> None:
    """Train the head of a model in place."""
    folder, trunk = data_folder() / "features", parts.module.visual.trunk
    plan = Plan(seed=options.seed, epochs=options.epochs, bfloat16=not options.float32)
    material = lessons(items, chosen, parts, folder, show)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)  # modules draw their first weights from the global generator
        student = Student(Head(trunk.head.config))
    kept = folder / f"run-{'validate' if options.validate else 'final'}-{plan.seed}.pt"

    def on_epoch(epochs: int, loss: float) -> None:
        show(f"training, loss {loss:.2f}", epochs / plan.epochs)

    train(student, material, plan, kept, on_epoch)
    trunk.head.load_state_dict(student.head.state_dict())
    trunk.share.fill_(material.share)
    parts.module.logit_scale.data.copy_(student.logit_scale.data)


def show(what: str, share: float) -> None:
    """One line of progress, over the last one; a new one where it is done."""
    sys.stderr.write(f"\r{what:<40} {share:>4.0%}" + ("\n" if share >= 1 else ""))
    sys.stderr.flush()
