"""Templates: sentences with {} where the label goes, one to eighty for every label.

Source: Radford et al. 2021, section 3.1.4, https://arxiv.org/abs/2103.00020; the lists of 7 and 80
are open_clip's.
"""

import re
from collections.abc import Iterable

from open_clip import OPENAI_IMAGENET_TEMPLATES, SIMPLE_IMAGENET_TEMPLATES

from core.errors import InputError
from core.models.text.tokens import valid_unicode

SLOT = "{}"
NEGATIVE = re.compile(r"-\s*(?=[^\W\d_])")  # '-5' is a number
WORDS = "an?|the|some|my|your|his|her|its|our|their|this|that|these|those|no|two|three|many"
ARTICLE = re.compile(rf"(?:{WORDS})\s+\S", re.IGNORECASE)
TEMPLATE_ARTICLE = re.compile(r"\b(?:an?|the|my)\s+\{\}", re.IGNORECASE)
# 100,000 vectors of 512 numbers are 200 MB; 10,000 labels still have room for ten templates.
MOST_PROMPTS = 100_000

TEMPLATES: dict[str, tuple[str, ...]] = {
    "none": (SLOT,),
    "a photo of a {}": ("a photo of a {}",),
    "the 7 best": tuple(template(SLOT) for template in SIMPLE_IMAGENET_TEMPLATES),
    "the 80": tuple(template(SLOT) for template in OPENAI_IMAGENET_TEMPLATES),
}


def parse_templates(text: str) -> tuple[str, ...]:
    """Own templates, one a line; equal ones count once.

    Raises:
        InputError: if there is none, or a line has no {}, two of them or other braces.
    """
    lines = [" ".join(valid_unicode(line).split()) for line in text.splitlines()]
    templates = tuple(dict.fromkeys(line for line in lines if line))
    if not templates:
        raise InputError("At least one template, such as 'a photo of a {}', was wanted; none came.")
    for template in templates:
        if template.count(SLOT) != 1 or set(SLOT) & set(template.replace(SLOT, "", 1)):
            raise InputError(
                "A template with {} once, where the label goes, and no other braces was wanted; "
                f"'{template[:80]}' came."
            )
    return templates


def fill(template: str, label: str) -> str:
    """The template with the label in the place of {}; braces in the label stay as they are.

    A label that brings its article, 'a cup of coffee', takes the place of the template's: 'a photo
    of a cup of coffee', not 'of a a cup'.
    """
    label = spoken(label)
    if brings_article(label):
        template = TEMPLATE_ARTICLE.sub(SLOT, template, count=1)
    return template.replace(SLOT, label, 1)


def spoken(label: str) -> str:
    """The words of a label as the model reads them; a '-' before them makes it a negative one."""
    return NEGATIVE.sub("", label, count=1)


def brings_article(label: str) -> bool:
    """Does a label begin with a word that stands where a template has its article?"""
    return ARTICLE.match(spoken(label)) is not None


def with_article(labels: Iterable[str], templates: Iterable[str]) -> list[str]:
    """The labels whose article takes the place of one in these templates."""
    if not any(TEMPLATE_ARTICLE.search(template) for template in templates):
        return []
    return [label for label in labels if brings_article(label)]


def named_templates(name: str) -> tuple[str, ...]:
    """The templates of this name.

    Raises:
        InputError: if there are none.
    """
    if name not in TEMPLATES:
        known = ", ".join(f"'{known}'" for known in TEMPLATES)
        raise InputError(f"One of the templates {known} was wanted; '{name}' came.")
    return TEMPLATES[name]


def prompts(labels: Iterable[str], templates: Iterable[str]) -> list[str]:
    """Every label in every template: all labels of the first template, then of the second, ...

    Raises:
        InputError: if there are none, or more than `MOST_PROMPTS`.
    """
    labels, templates = tuple(labels), tuple(templates)
    if not labels or not templates:
        raise InputError("At least one label and one template were wanted; none came.")
    count = len(labels) * len(templates)
    if count > MOST_PROMPTS:
        raise InputError(
            f"At most {MOST_PROMPTS:,} labels x templates were wanted; {len(labels):,} labels x "
            f"{len(templates):,} templates are {count:,}."
        )
    return [fill(template, label) for template in templates for label in labels]
