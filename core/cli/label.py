"""The command `label`: the first labels of every picture of a folder, or its pictures ranked."""

import argparse
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from core import models as registry
from core.attention import MECHANISMS
from core.cli.maps import bar, refuse_unavailable
from core.errors import InputError
from core.models.clip.model import PICTURES, ClipModel
from core.zero_shot.folders.labelling import Job, label_folder, rank_folder
from core.zero_shot.folders.pictures import pictures_in
from core.zero_shot.labels.alike import read_alike
from core.zero_shot.labels.cut import cut_labels
from core.zero_shot.labels.lists import ENDINGS, READY, LabelList, label_list, labels_from_file
from core.zero_shot.labels.templates import TEMPLATES, named_templates, parse_templates

STOPPED = 130  # what a shell gives a command that Ctrl+C ended
ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")  # of a file's name, not of a label


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
    command.add_argument(
        "--batch", type=int, default=PICTURES, help=f"at a time (default {PICTURES})"
    )
    command.add_argument("--top", type=int, default=5, help="labels a picture (default 5)")
    command.add_argument("--device", default="auto", help="auto, cpu, cuda or mps (default auto)")
    command.add_argument("--precision", default="float32", help="float32, bfloat16 or float16")
    command.set_defaults(act=label)


def label(given: argparse.Namespace) -> int:
    """Label or rank the pictures of a folder; 130 if it was stopped, even while a model loads."""
    try:
        return _label(given)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped; with --labels the same command goes on from here.\n")
        return STOPPED


def _label(given: argparse.Namespace) -> int:
    if given.mechanism and given.mechanism not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{given.mechanism}' came.")
    refuse_unavailable(given)
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
    if labels is None:
        done = rank_folder(model, job, given.rank, bar("ranking"))
    else:
        for note in (*labels.notes, *_notes(model, labels.labels, job.templates)):
            sys.stderr.write(f"{note}\n")
        done = label_folder(model, job, labels.labels, bar("labelling"), bar("reading labels"))
    parts = [f"{done.read:,} pictures read"]
    parts += [f"{done.skipped:,} there already"] if done.skipped else []
    parts += [f"{done.failed:,} not readable, see the column 'error'"] if done.failed else []
    sys.stdout.write(f"{job.out}: {'; '.join(parts)}\n")
    return 0


def _labels(given: str) -> LabelList:
    """The labels of a file, of a ready list, or between commas.

    Raises:
        InputError: if it is none of them, or the path of another kind of file.
    """
    if given in READY:
        return label_list(READY[given])
    if given.lower().endswith(ENDINGS):
        return labels_from_file(_read(Path(given), "labels"), Path(given).name)
    if _is_path(given):
        raise InputError(
            f"Labels, or a file that ends in {', '.join(ENDINGS)}, were wanted; '{given}' came: "
            "rename the file, or put a label that only looks like a path into one."
        )
    return label_list(given.split(","))


def _is_path(given: str) -> bool:
    """Is it rather a file than labels? Between commas there are labels, slashes and all."""
    try:
        if Path(given).is_file():
            return True
    except (OSError, ValueError):  # too long for a path, or a null in it
        return False
    return "," not in given and bool(set("/\\") & set(given) or ENDING.search(given))


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


def _notes(model: ClipModel, labels: Sequence[str], templates: Sequence[str]) -> Iterator[str]:
    """Labels whose end the model does not read in the longest template, and those it reads alike.

    A sigmoid scores each label for itself: there labels that are read alike take nothing.
    """
    longest = max(templates, key=len)
    for label, (_, cut) in cut_labels(model, labels, longest).items():
        yield f"'{model.name}' does not read the end of '{label[:40]}...': '{cut}' is cut."
    for one, other in () if model.sigmoid else read_alike(model, labels, longest):
        yield (
            f"'{model.name}' reads '{one[:40]}' and '{other[:40]}' alike: "
            "each gets its own share of the probability."
        )
