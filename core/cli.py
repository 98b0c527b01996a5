"""What the commands of `python -m core` do."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from core import models as registry
from core import reading
from core.attention import MECHANISMS
from core.errors import InputError
from core.models import MODELS, OFFLINE
from core.models.images import ENDINGS as PICTURE_ENDINGS
from core.models.images import open_picture
from core.models.weights import SOURCES, fetch
from core.picture import export
from core.picture.html import offline_html
from core.picture.overlay import overlay_png
from core.picture.scene import (
    OFFLINE_LOOK,
    head_scene,
    mosaic_scene,
    patches_scene,
    photo,
    sentence_scenes,
)
from core.picture.views import Head
from core.types import Run

ENDINGS = (".png", ".npz", ".csv", ".html")


def maps(given: argparse.Namespace) -> int:
    """Write the map of one head to a file."""
    if given.out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"A file that ends in {', '.join(ENDINGS)} was wanted; '{given.out}' came."
        )
    if given.mechanism and given.mechanism not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{given.mechanism}' came.")
    is_picture = given.input.lower().endswith(PICTURE_ENDINGS)
    _check_options(given, is_picture)
    name = given.model or ("focus-vit" if is_picture else "minilm")
    model = registry.load(
        name, device=given.device, precision=given.precision, on_progress=bar(f"fetching {name}")
    )
    model = registry.half(model, "vision" if is_picture else "text")
    data = _of_picture(model, given) if is_picture else _of_text(model, given)
    try:
        given.out.write_bytes(data)
    except OSError as error:
        raise InputError(f"'{given.out}' cannot be written: {error.strerror}.") from error
    sys.stdout.write(f"{given.out}\n")
    return 0


def models(given: argparse.Namespace) -> int:
    """List the models."""
    for name, entry in MODELS.items():
        state = "from the hub"
        if name in OFFLINE:
            state = "ready" if registry.ready(name) else "needs no hub, not fetched yet"
        sys.stdout.write(f"{name:<44} {entry.kind:<7} {state:<31} {entry.about}\n")
    sys.stdout.write("Others of transformers, timm and open_clip load by their names or folders.\n")
    return 0


def weights(given: argparse.Namespace) -> int:
    """Fetch weights that need no hub."""
    for name in given.names or SOURCES:
        fetch(name, bar(f"fetching {name}"))
        sys.stdout.write(f"{name}: ready\n")
    return 0


def bench(given: argparse.Namespace) -> int:
    """Measure and print a table; 1 if a bar is not met."""
    from core.bench import capture, clip, report

    measured = {"capture": capture, "clip": clip}[given.what]
    sys.stdout.write(f"{report.HEADER}\n")
    met = True
    for line in measured.lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        met = met and line.met
    return 0 if met else 1


def bar(what: str) -> Callable[[float], None]:
    """A progress line on a terminal; silent where nobody looks."""

    def show(share: float) -> None:
        if sys.stderr.isatty():
            end = "\n" if share >= 1 else ""
            sys.stderr.write(f"\r{what} {100 * share:3.0f} %{end}")
            sys.stderr.flush()

    return show


def _of_text(model: registry.Model, given: argparse.Namespace) -> bytes:
    text = given.input
    if text.endswith(".txt"):
        text = _text_of(Path(text))
    run = _run(model, text, given)
    choice = reading.Choice(
        layer=given.layer, head=given.head,
        hide_special=given.hide_special, by_word=given.by_word,
    )  # fmt: skip
    _check_head(run, choice)
    _tell_notes(run)
    ending = given.out.suffix.lower()
    if ending == ".html":
        view = reading.head_view(run, choice)
        about = reading.provenance(run, choice, text, view.note)
        mosaic = mosaic_scene(reading.mosaic_view(run, choice), _head(choice), run="page")
        scenes = [*sentence_scenes(view, run="page"), head_scene(view, choice, run="page"), mosaic]
        return offline_html(about.line(), scenes, about.lines()).encode()
    labelled = reading.labelled(run, choice, text)
    write = {".png": export.to_png, ".npz": export.to_npz, ".csv": export.to_csv}[ending]
    return write(labelled)


def _of_picture(model: registry.Model, given: argparse.Namespace) -> bytes:
    picture = open_picture(Path(given.input), Path(given.input).name)
    run = _run(model, picture, given)
    choice = reading.Choice(layer=given.layer, head=given.head)
    _check_head(run, choice)
    query = reading.query_position(run, given.query)
    _tell_notes(run)
    ending = given.out.suffix.lower()
    if ending == ".html":
        about = reading.labelled_query(run, choice, query, picture.name).about
        shown = photo(picture, run.prepared.geometry)
        scene = patches_scene(run, shown, query, _head(choice), name="page", look=OFFLINE_LOOK)
        return offline_html(about.line(), scene, about.lines()).encode()
    labelled = reading.labelled_query(run, choice, query, picture.name)
    if ending == ".png":
        ringed = run.prepared.groups[0].queries[0][query].patch
        return overlay_png(picture, run.prepared.geometry, labelled, query=ringed)
    if given.query is None:  # numbers without a query: the whole map of the head
        labelled = reading.labelled(run, choice, picture.name)
    return {".npz": export.to_npz, ".csv": export.to_csv}[ending](labelled)


def _check_options(given: argparse.Namespace, is_picture: bool) -> None:
    if is_picture and (given.hide_special or given.by_word):
        raise InputError("--hide-special and --by-word are for texts; a picture came.")
    if not is_picture and given.query is not None:
        raise InputError("--query is for pictures; a text came.")


def _run(model: registry.Model, read: object, given: argparse.Namespace) -> Run:
    return model.run(read, given.mechanism, on_call=bar(f"running {model.name}"))


def _tell_notes(run: Run) -> None:
    for note in run.prepared.notes:
        sys.stderr.write(f"{note}\n")


def _check_head(run: Run, choice: reading.Choice) -> None:
    try:
        reading.call_of(run, choice)
    except ValueError as error:
        raise InputError(f"'{run.model}': {error}.") from error


def _head(choice: reading.Choice) -> Head:
    return Head(choice.layer, choice.head)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"A UTF-8 text file was wanted; '{path}' cannot be read.") from error
