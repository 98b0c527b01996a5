"""open_clip's names for models and weights: 'ViT-B-32/laion2b_s34b_b79k', 'ViT-B-32:openai'.

Source: open_clip's own tables, https://github.com/mlfoundations/open_clip/blob/main/docs/PRETRAINED.md
"""

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

import open_clip
import timm

from core.errors import InputError
from core.models.files.hub import CLIP_CONFIG, PICKLES, pickle_refused

HUB = "hf-hub:"
WEIGHTS = "open_clip_model.safetensors"
SHOWN = 6  # tags in one sentence
SIZES = {"base": "b", "large": "l", "huge": "h"}
THEIRS = re.compile(r"clip-vit-(base|large|huge)-patch([\d-]+)$")


class Named(NamedTuple):
    """A model as open_clip names it."""

    architecture: str
    tag: str  # '' if none was given


def known() -> list[str]:
    """The models that open_clip can build."""
    return open_clip.list_models()


def is_clip(name: str) -> bool:
    """Is this a name, not of a folder, that `loading.load_clip` takes?"""
    repository = name.removeprefix(HUB)
    if repository != name:
        return not timm.is_model(repository.removeprefix("timm/").partition(".")[0])
    return named(name) is not None


def named(name: str) -> Named | None:
    """The parts of one of open_clip's names, known or nearly so; None for any other name.

    A name alone that timm knows too, such as 'convnext_base', is timm's.
    """
    if name.startswith(HUB):
        return None
    models = known()
    if name.replace("/", "-") in models and not timm.is_model(name):
        return Named(name.replace("/", "-"), "")
    if ":" in name:
        architecture, _, tag = name.partition(":")
        return Named(architecture.replace("/", "-"), tag)
    architecture, _, tag = name.rpartition("/")
    architecture = architecture.replace("/", "-")
    nearly = near(architecture, models) if tag else []
    if architecture in models or architecture.lower() in {name.lower() for name in nearly}:
        return Named(architecture, tag)
    if nearly and _is_tag(tag):
        return Named(architecture, tag)
    return None


def pretrained(wanted: Named) -> dict:
    """What open_clip knows of these weights: where they lie, their preprocessing.

    Raises:
        InputError: if the model or the tag is unknown, or no tag was given; near ones are named.
    """
    architecture, tag = wanted
    if architecture not in known():
        raise InputError(
            f"The name of an open_clip model was wanted; it knows no '{architecture}'"
            f"{_hint(near(architecture, known()))}."
        )
    if tag.lower().endswith(PICKLES):
        said = f"Weights in safetensors were wanted; '{tag}' is a pickle"
        raise pickle_refused(said, CLIP_CONFIG, WEIGHTS)
    tags = open_clip.list_pretrained_tags_by_model(architecture)
    config = open_clip.get_pretrained_cfg(architecture, tag) if tag else None
    if config:
        return config
    if not tags:
        raise InputError(f"'{architecture}' was wanted with weights; open_clip knows none of it.")
    came = f"'{tag}' came" if tag else "none came"
    more = f" and {len(tags) - SHOWN} more" if len(tags) > SHOWN else ""
    raise InputError(
        f"'{architecture}' was wanted with a tag of its weights, as in '{architecture}/{tags[0]}'; "
        f"{came}{_hint(near(tag, tags))}. It has {', '.join(tags[:SHOWN])}{more}."
    )


def near(name: str, others: Iterable[str]) -> list[str]:
    """Those of other names that are spelt much the same, upper and lower case alike.

    The way in which transformers names a CLIP is understood too: 'openai/clip-vit-base-patch32'.
    """
    by_lower = {other.lower(): other for other in others}
    spelt = name.lower()
    theirs = THEIRS.search(spelt)
    if theirs and (own := f"vit-{SIZES[theirs[1]]}-{theirs[2]}") in by_lower:
        return [by_lower[own]]
    close = difflib.get_close_matches(spelt, by_lower, n=3, cutoff=0.6)
    return [by_lower[lower] for lower in close]


def _is_tag(tag: str) -> bool:
    return bool(open_clip.list_pretrained_models_by_tag(tag))


def _hint(names: list[str]) -> str:
    if not names:
        return ""
    return f"; near it {'is' if len(names) == 1 else 'are'} {', '.join(names)}"
