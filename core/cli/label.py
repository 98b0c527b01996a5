"""The command `label`: the first labels of every picture of a folder, or its pictures ranked."""

import argparse
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from core.cli.loading import load
from core.cli.mechanism import check_mechanism
from core.cli.progress import bar
from core.errors import InputError
from core.models import require_kind
from core.models.clip.model import ClipModel
from core.models.text.tokens import valid_unicode
from core.zero_shot.folders.labelling import Job, label_folder, labelled, rank_folder
from core.zero_shot.folders.pictures import left_out, pictures_in
from core.zero_shot.folders.sorting import moves, sort
from core.zero_shot.labels.alike import read_alike, unknown_words
from core.zero_shot.labels.cut import cut_labels
from core.zero_shot.labels.lists import ENDINGS, READY, LabelList, label_list, labels_from_file
from core.zero_shot.labels.templates import named_templates, parse_templates, with_article

STOPPED = 130  # what a shell gives a command that Ctrl+C ended
ENDING = re.compile(r"\.[A-Za-z]\w{1,4}$")  # of a file's name, not of a label


def run(options: argparse.Namespace) -> int:
    """Label or rank the pictures of a folder; 130 if it was stopped, even while a model loads."""
    try:
        return _label(options)
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped; with --labels the same command goes on from here.\n")
        return STOPPED


def _label(options: argparse.Namespace) -> int:
    check_mechanism(options)
    labels = None if options.labels is None else _labels(options.labels)
    default = "none" if labels is None else "a photo of a {}"
    job = Job(
        folder=options.folder, out=options.out, templates=_templates(options.templates or default),
        mechanism=options.mechanism, batch=options.batch, top=options.top,
        least_cosine=options.least_cosine,
    )  # fmt: skip
    pictures_in(job.folder)  # an empty one is told before the model is loaded
    _check_sorting(options)
    model = load(options.model, options.device, options.precision, keep_memory=True)
    require_kind(model, "clip")
    if labels is None:
        done = rank_folder(model, job, valid_unicode(options.rank), bar("ranking"))
    else:
        for note in (*labels.notes, *_notes(model, labels.labels, job.templates)):
            sys.stderr.write(f"{note}\n")
        with _written(job, options.dry_run) as job:
            done = label_folder(model, job, labels.labels, bar("labelling"), bar("reading labels"))
            _sort(job, options)
    parts = [f"{done.read:,} pictures read"]
    parts += [f"{done.skipped:,} there already"] if done.skipped else []
    parts += [f"{done.failed:,} not readable, see the column 'error'"] if done.failed else []
    others = left_out(job.folder)
    if others:
        endings = ", ".join(f"{ending} {count:,}" for ending, count in sorted(others.items()))
        parts.append(f"{others.total():,} other files left out ({endings})")
    where = "nothing was written" if options.dry_run else str(job.out)
    sys.stdout.write(f"{where}: {'; '.join(parts)}\n")
    return 0


def _check_sorting(options: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if options.labels is None and (options.into or options.dry_run or options.least_cosine):
        raise InputError("--into, --dry-run and --least-cosine go with --labels only.")
    if options.link and not options.into:
        raise InputError("--link says how --into sorts: a folder was wanted with --into.")


@contextmanager
def _written(job: Job, dry_run: bool) -> Iterator[Job]:
    """The job; of a dry run, one whose table is gone again, and goes on from the real one."""
    if not dry_run:
        yield job
        return
    with TemporaryDirectory() as folder:
        table = Path(folder, job.out.name)
        if job.out.exists():
            shutil.copyfile(job.out, table)
        yield replace(job, out=table)


def _sort(job: Job, options: argparse.Namespace) -> None:
    """Sort the labelled pictures into folders, or say where they would go."""
    if options.into is None:
        return
    plan = list(moves(labelled(job), options.into))
    if options.dry_run:
        for move in plan:
            already = " (there already)" if move.there else ""
            sys.stdout.write(f"{move.source} -> {move.target}{already}\n")
        return
    sort(plan, options.link or "copy")
    new = sum(not move.there for move in plan)
    sys.stdout.write(f"{options.into}: {new:,} pictures put, {len(plan) - new:,} there already\n")


def _labels(typed: str) -> LabelList:
    """The labels of a file, of a ready list, or between commas.

    Raises:
        InputError: if it is none of them, or the path of another kind of file.
    """
    if typed in READY:
        return label_list(READY[typed])
    if typed.lower().endswith(ENDINGS):
        return labels_from_file(_read(Path(typed), "labels"), Path(typed).name)
    if _is_path(typed):
        raise InputError(
            f"Labels, or a file that ends in {', '.join(ENDINGS)}, were wanted; '{typed}' came: "
            "rename the file, or put a label that only looks like a path into one."
        )
    return label_list(typed.split(","))


def _is_path(typed: str) -> bool:
    """Is it rather a file than labels? Between commas there are labels, slashes and all."""
    try:
        if Path(typed).is_file():
            return True
    except (OSError, ValueError):  # too long for a path, or a null in it
        return False
    return "," not in typed and bool(set("/\\") & set(typed) or ENDING.search(typed))


def _templates(typed: str) -> tuple[str, ...]:
    """The templates of a file, or of a name."""
    if not typed.lower().endswith(".txt"):
        return named_templates(typed)
    try:
        return parse_templates(_read(Path(typed), "templates").decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"A UTF-8 file of templates was wanted; '{typed}' is not one.") from error


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
    bringing = with_article(labels, templates)
    if bringing:
        yield (
            f"{len(bringing):,} labels bring their own article, such as '{bringing[0][:40]}': it "
            "takes the place of the template's."
        )
    for label, pieces in unknown_words(model, labels).items():
        yield (
            f"'{model.name}' does not know {', '.join(pieces)} in '{label[:40]}': it reads all "
            "that it does not know as one and the same token."
        )
    for one, other in () if model.sigmoid else read_alike(model, labels, longest):
        yield (
            f"'{model.name}' reads '{one[:40]}' and '{other[:40]}' alike: "
            "each gets its own share of the probability."
        )
