"""The command `label`: the first labels of every picture of a folder, or its pictures ranked."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from core import models as registry
from core.attention import MECHANISMS
from core.cli import bar
from core.errors import InputError
from core.models.clip.model import ClipModel
from core.zero_shot.cut import cut_labels
from core.zero_shot.folder import pictures_in
from core.zero_shot.labelling import Job, label_folder, rank_folder
from core.zero_shot.labels import ENDINGS, READY, LabelList, label_list, labels_from_file
from core.zero_shot.templates import TEMPLATES, named_templates, parse_templates

STOPPED = 130  # what a shell gives a command that Ctrl+C ended


def add_parser(commands: "argparse._SubParsersAction") -> None:
    """The command with its options."""
    command = commands.add_parser(
        "label",
        help="label the pictures of a folder, or rank them by words",
        description="Write a CSV with the first labels of every picture of a folder and of the "
        "folders in it, with cosine and probability; or with --rank its pictures, the nearest "
        "first. A labelling that was stopped goes on where it was with the same command.",
    )
    command.add_argument("folder", type=Path, help="a folder of pictures")
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--labels",
        help="'a,b,c'; or a .txt file, one a line; or a .csv file with a column 'label'; or one of "
        f"{', '.join(READY)}. Labels with a comma in them: use a file",
    )
    what.add_argument("--rank", metavar="WORDS", help="rank the pictures by these words instead")
    command.add_argument("--out", type=Path, required=True, help="the .csv file to write")
    command.add_argument(
        "--templates",
        help=f"one of {', '.join(repr(name) for name in TEMPLATES)}, or a .txt file of own ones "
        "(default 'a photo of a {}', with --rank 'none')",
    )
    command.add_argument("--model", default="clip-mini", help="default clip-mini, the offline one")
    command.add_argument("--mechanism", help="a name of MECHANISMS; the model's own if none")
    command.add_argument("--batch", type=int, default=16, help="pictures at a time (default 16)")
    command.add_argument("--top", type=int, default=5, help="labels a picture (default 5)")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    command.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    command.set_defaults(act=label)


def label(given: argparse.Namespace) -> int:
    """Label or rank the pictures of a folder; 130 if it was stopped."""
    if given.mechanism and given.mechanism not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{given.mechanism}' came.")
    labels = None if given.labels is None else _labels(given.labels)
    default = "none" if labels is None else "a photo of a {}"
    job = Job(
        folder=given.folder, out=given.out, templates=_templates(given.templates or default),
        mechanism=given.mechanism, batch=given.batch, top=given.top,
    )  # fmt: skip
    pictures_in(job.folder)  # an empty one is told before the model is loaded
    model = registry.load(
        given.model, device=given.device, precision=given.precision,
        on_progress=bar(f"fetching {given.model}"),
    )  # fmt: skip
    registry.require_kind(model, "clip")
    try:
        if labels is None:
            done = rank_folder(model, job, given.rank, bar("ranking"))
        else:
            for note in (*labels.notes, *_cut(model, labels.labels, job.templates)):
                sys.stderr.write(f"{note}\n")
            done = label_folder(model, job, labels.labels, bar("labelling"))
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped; with --labels the same command goes on from here.\n")
        return STOPPED
    parts = [f"{done.read:,} pictures read"]
    parts += [f"{done.skipped:,} there already"] if done.skipped else []
    parts += [f"{done.failed:,} not readable, see the column 'error'"] if done.failed else []
    sys.stdout.write(f"{job.out}: {'; '.join(parts)}\n")
    return 0


def _labels(given: str) -> LabelList:
    """The labels of a file, of a ready list, or between commas."""
    if given in READY:
        return label_list(READY[given])
    if given.lower().endswith(ENDINGS):
        return labels_from_file(_read(Path(given), "labels"), Path(given).name)
    return label_list(given.split(","))


def _templates(given: str) -> tuple[str, ...]:
    """The templates of a file, or of a name."""
    if not given.lower().endswith(".txt"):
        return named_templates(given)
    try:
        return parse_templates(_read(Path(given), "templates").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"A UTF-8 file of templates was wanted; '{given}' is not one.") from error


def _read(path: Path, what: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(
            f"A file of {what} was wanted; '{path}' cannot be read ({error.strerror})."
        ) from error


def _cut(model: ClipModel, labels: Sequence[str], templates: Sequence[str]) -> Iterator[str]:
    """A sentence for each label whose end the model does not read in the longest template."""
    for label, (_, cut) in cut_labels(model, labels, max(templates, key=len)).items():
        yield f"'{model.name}' does not read the end of '{label[:40]}...': '{cut}' is cut."
