"""The command `maps`: the map of one head of a text or a picture, as a file."""

import argparse
import sys
from pathlib import Path

from core.cli.loading import load
from core.cli.mechanism import check_mechanism
from core.cli.parsers.facts import OFFLINE_MODEL
from core.cli.progress import bar
from core.errors import InputError
from core.maps import head_view, regions
from core.models import tower_for
from core.models.files import text_files
from core.models.model import Model
from core.models.run import Run
from core.models.text.tokens import valid_unicode
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


def run(options: argparse.Namespace) -> int:
    """Write the map of one head to a file."""
    if options.out.suffix.lower() not in ENDINGS:
        raise InputError(
            f"A file that ends in {', '.join(ENDINGS)} was wanted; '{options.out}' came."
        )
    check_mechanism(options)
    is_picture = options.input.lower().endswith(PICTURE_ENDINGS)
    _check_options(options, is_picture)
    kind = "vision" if is_picture else "text"
    name = options.model or OFFLINE_MODEL[kind]
    model = tower_for(load(name, options.device, options.precision), kind)
    data = _of_picture(model, options) if is_picture else _of_text(model, options)
    try:
        options.out.write_bytes(data)
    except OSError as error:
        raise InputError(f"'{options.out}' cannot be written: {error.strerror}.") from error
    sys.stdout.write(f"{options.out}\n")
    return 0


def _of_text(model: Model, options: argparse.Namespace) -> bytes:
    text = options.input
    if text_files.is_file(text):
        text = text_files.text_of(Path(text))
    run = _run_of(model, text, options)
    choice = head_view.Choice(
        layer=options.layer, head=options.head,
        hide_special=options.hide_special, by_word=options.by_word, reduce=options.reduce,
        region=None if options.region is None else regions.parsed(options.region),
    )  # fmt: skip
    _check_head(run, choice)
    if text is not options.input:
        text = options.input  # the file's name stands for its text
    text = valid_unicode(text)  # as the model read it
    _write_notes(run)
    ending = options.out.suffix.lower()
    if ending == ".html":
        view = head_view.head_view(run, choice)
        about = head_view.provenance(run, choice, text, view.note)
        mosaic = mosaic_scene(head_view.mosaic_view(run, choice), _head(choice), run="page")
        scenes = [*sentence_scenes(view, run="page"), head_scene(view, choice, run="page"), mosaic]
        return offline_html(about.line(), scenes, about.lines()).encode()
    labelled = head_view.labelled(run, choice, text)
    write = {".png": export.to_png, ".npz": export.to_npz, ".csv": export.to_csv}[ending]
    return write(labelled)


def _of_picture(model: Model, options: argparse.Namespace) -> bytes:
    picture = open_picture(Path(options.input), Path(options.input).name)
    run = _run_of(model, picture, options)
    choice = _of_all_layers(run, options.layer, options.head)
    _check_head(run, choice)
    query = head_view.query_position(run, options.query, choice.group)
    _write_notes(run)
    group = run.prepared.groups[choice.group]
    if len(run.prepared.groups) > 1:  # files and pages count the layers of each group by itself
        sys.stderr.write(f"Layer {options.layer} is layer {choice.layer} of {group.name}.\n")
    geometry = run.prepared.geometry.of_group(group)
    ending = options.out.suffix.lower()
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
    if options.query is None:  # numbers without a query: the whole map of the head
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


def _check_options(options: argparse.Namespace, is_picture: bool) -> None:
    if is_picture and (options.hide_special or options.by_word):
        raise InputError("--hide-special and --by-word are for texts; a picture came.")
    if is_picture and (options.region is not None or options.reduce != "max"):
        raise InputError("--region and --reduce are for texts; a picture came.")
    if not is_picture and options.query is not None:
        raise InputError("--query is for pictures; a text came.")


def _run_of(model: Model, read: object, options: argparse.Namespace) -> Run:
    return model.run(read, options.mechanism, on_call=bar(f"running {model.name}"))


def _write_notes(run: Run) -> None:
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
