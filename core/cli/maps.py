"""What the commands of `python -m core` do."""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from core import models as registry
from core.attention import MECHANISMS, unavailable
from core.errors import InputError
from core.maps import head_view, regions
from core.models import MODELS, OFFLINE, devices
from core.models.files import text_files
from core.models.files.sources import SOURCES
from core.models.files.text_files import text_of
from core.models.files.weights import fetch
from core.models.run import Run
from core.models.vision.images import ENDINGS as PICTURE_ENDINGS
from core.models.vision.images import open_picture
from core.picture.canvas.scene import (
    OFFLINE_STYLE,
    head_scene,
    mosaic_scene,
    patches_scene,
    photo,
    sentence_scenes,
)
from core.picture.canvas.views import Head
from core.picture.files import export
from core.picture.files.html import offline_html
from core.picture.files.overlay import overlay_png

ENDINGS = (".png", ".npz", ".csv", ".html")


def maps(given: argparse.Namespace) -> int:
    """Write the map of one head to a file."""
    if given.out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"A file that ends in {', '.join(ENDINGS)} was wanted; '{given.out}' came."
        )
    if given.mechanism and given.mechanism not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{given.mechanism}' came.")
    refuse_unavailable(given)
    is_picture = given.input.lower().endswith(PICTURE_ENDINGS)
    _check_options(given, is_picture)
    name = given.model or ("focus-vit" if is_picture else "minilm")
    model = registry.load(
        name, device=given.device, precision=given.precision, on_progress=bar(f"fetching {name}")
    )
    model = registry.tower_for(model, "vision" if is_picture else "text")
    data = _of_picture(model, given) if is_picture else _of_text(model, given)
    try:
        given.out.write_bytes(data)
    except OSError as error:
        raise InputError(f"'{given.out}' cannot be written: {error.strerror}.") from error
    sys.stdout.write(f"{given.out}\n")
    return 0


def refuse_unavailable(given: argparse.Namespace) -> None:
    """Say that the mechanism cannot run on the device in the precision, before anything is loaded.

    Raises:
        InputError: with the reason.
    """
    if given.mechanism is None:
        return
    where = devices.resolve(given.device)
    reason = unavailable(given.mechanism, where, devices.precision(given.precision, where))
    if reason is not None:
        raise InputError(f"'{given.mechanism}' cannot run here: {reason}.")


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
    from core.bench.bars import capture, clip, long, report

    measured = {"capture": capture, "clip": clip, "long": long}[given.what]
    sys.stdout.write(f"{report.HEADER}\n")
    met = True
    for line in measured.lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        met = met and (isinstance(line, str) or line.met)
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
    if text_files.is_file(text):
        text = text_of(Path(text))
    run = _run(model, text, given)
    choice = head_view.Choice(
        layer=given.layer, head=given.head,
        hide_special=given.hide_special, by_word=given.by_word, reduce=given.reduce,
        region=None if given.region is None else regions.parsed(given.region),
    )  # fmt: skip
    _check_head(run, choice)
    if text is not given.input:
        text = given.input  # the file's name stands for its text
    _tell_notes(run)
    ending = given.out.suffix.lower()
    if ending == ".html":
        view = head_view.head_view(run, choice)
        about = head_view.provenance(run, choice, text, view.note)
        mosaic = mosaic_scene(head_view.mosaic_view(run, choice), _head(choice), run="page")
        scenes = [*sentence_scenes(view, run="page"), head_scene(view, choice, run="page"), mosaic]
        return offline_html(about.line(), scenes, about.lines()).encode()
    labelled = head_view.labelled(run, choice, text)
    write = {".png": export.to_png, ".npz": export.to_npz, ".csv": export.to_csv}[ending]
    return write(labelled)


def _of_picture(model: registry.Model, given: argparse.Namespace) -> bytes:
    picture = open_picture(Path(given.input), Path(given.input).name)
    run = _run(model, picture, given)
    choice = _of_all_layers(run, given.layer, given.head)
    _check_head(run, choice)
    query = head_view.query_position(run, given.query, choice.group)
    _tell_notes(run)
    group = run.prepared.groups[choice.group]
    if len(run.prepared.groups) > 1:  # files and pages count the layers of each group by itself
        sys.stderr.write(f"Layer {given.layer} is layer {choice.layer} of {group.name}.\n")
    geometry = run.prepared.geometry.of_group(group)
    ending = given.out.suffix.lower()
    if ending == ".html":
        about = head_view.labelled_query(run, choice, query, picture.name).about
        shown = photo(picture, geometry)
        scene = patches_scene(
            run, shown, query, _head(choice), group=choice.group, name="page", style=OFFLINE_STYLE
        )
        return offline_html(about.line(), scene, about.lines()).encode()
    labelled = head_view.labelled_query(run, choice, query, picture.name)
    if ending == ".png":
        return overlay_png(picture, geometry, labelled, query=group.queries[0][query].patch)
    if given.query is None:  # numbers without a query: the whole map of the head
        labelled = head_view.labelled(run, choice, picture.name)
    return {".npz": export.to_npz, ".csv": export.to_csv}[ending](labelled)


def _of_all_layers(run: Run, layer: int, head: int) -> head_view.Choice:
    """A head by its layer among those of all groups: the stages of a Swin, or a pool at the end."""
    layers = [
        (index, own)
        for index, group in enumerate(run.prepared.groups)
        for own in range(len(group.calls))
    ]
    if not 0 <= layer < len(layers):
        raise InputError(
            f"'{run.model}': a layer from 0 to {len(layers) - 1} was wanted; {layer} came."
        )
    return head_view.Choice(*layers[layer], head)


def _check_options(given: argparse.Namespace, is_picture: bool) -> None:
    if is_picture and (given.hide_special or given.by_word):
        raise InputError("--hide-special and --by-word are for texts; a picture came.")
    if is_picture and (given.region is not None or given.reduce != "max"):
        raise InputError("--region and --reduce are for texts; a picture came.")
    if not is_picture and given.query is not None:
        raise InputError("--query is for pictures; a text came.")


def _run(model: registry.Model, read: object, given: argparse.Namespace) -> Run:
    return model.run(read, given.mechanism, on_call=bar(f"running {model.name}"))


def _tell_notes(run: Run) -> None:
    for note in run.prepared.notes:
        sys.stderr.write(f"{note}\n")


def _check_head(run: Run, choice: head_view.Choice) -> None:
    try:
        head_view.call_of(run, choice)
        if choice.region is not None:
            head_view.cell_layout(run, choice)
    except ValueError as error:
        raise InputError(f"'{run.model}': {error}.") from error


def _head(choice: head_view.Choice) -> Head:
    return Head(choice.layer, choice.head)
