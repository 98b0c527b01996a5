"""Tables: scores and the settings they came from, as CSV that pandas and a spreadsheet read."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import SupportsFloat

from core.models.clip.model import ClipModel
from core.models.model import versions
from core.picture.files.csv_cells import guarded
from core.zero_shot.none_of_these import decided
from core.zero_shot.scores import Scores


@dataclass(frozen=True)
class Settings:
    """What scores depend on beside pictures and labels."""

    model: str
    mechanism: str  # a name in MECHANISMS, or that it is the model's own
    precision: str
    templates: tuple[str, ...]
    scale: float
    bias: float | None
    sigmoid: bool
    device: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """One line each, without quotes or line ends that could upset a reader."""
        known = {
            "model": self.model,
            "mechanism": self.mechanism,
            "device, precision": f"{self.device}, {self.precision}",
            "templates": " | ".join(self.templates),
            "probability": self.probability(),
            "versions": ", ".join(f"{name} {tag}" for name, tag in self.versions.items()),
        }
        return [
            f"{name}: {' '.join(value.split())}".replace('"', "'") for name, value in known.items()
        ]

    def probability(self) -> str:
        """How the probability comes from the cosine, with the model's own numbers."""
        if self.sigmoid:
            return f"sigmoid({self.scale:.6g} x cosine {self.bias or 0.0:+.6g}) of each label"
        return f"softmax({self.scale:.6g} x cosine) over the labels"


def settings_of(model: ClipModel, mechanism: str | None, templates: Sequence[str]) -> Settings:
    """The settings of scores of this model."""
    return Settings(
        model=model.name,
        mechanism=mechanism or "the model's own",
        precision=str(model.dtype).removeprefix("torch."),
        templates=tuple(templates),
        scale=model.scale,
        bias=model.bias,
        sigmoid=model.sigmoid,
        device=model.device.type,
        versions=versions(),
    )


def settings_json(scores: Scores, settings: Settings) -> bytes:
    """What plain scores depend on, in a file beside them."""
    about = asdict(settings) | {"probability": settings.probability(), "note": scores.note}
    return json.dumps(about, ensure_ascii=False, indent=1).encode("utf-8", errors="replace")


def scores_csv(
    scores: Scores,
    pictures: Sequence[str],
    settings: Settings,
    *,
    least_cosine: float | None = None,
    unread: Sequence[str] = (),
    bare: bool = False,
) -> bytes:
    """All scores, one row for a picture and a label, best first; settings in lines with # before.

    In lines, as in columns they would be repeated for every one of 200,000 rows. Texts are quoted,
    so that `pandas.read_csv(file, comment="#")` reads a label with a # in it. A name or label that
    a spreadsheet would run as a formula, such as =1+1, has an apostrophe before it; see
    `core.picture.files.csv_cells`.

    Args:
        scores: what is written.
        pictures: their names.
        settings: what the scores depend on.
        least_cosine: below it a picture is none of these.
        unread: a sentence for each picture that could not be read.
        bare: no lines before the table; `settings_json` goes beside it.
    """
    file, called = io.StringIO(newline=""), decided(scores, least_cosine)
    lines = [*settings.lines(), *([f"note: {scores.note}"] if scores.note else [])]
    if least_cosine is not None:
        lines.append(f"least cosine: {least_cosine:g}")
    lines += [f"not read: {' '.join(line.split())}".replace('"', "'") for line in unread]
    file.writelines(f"# {line}\r\n" for line in lines if not bare)
    writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(
        ["picture", "decision", "rank", "label", "cosine", "probability", "spread_over_templates"]
    )
    spread = scores.spread
    for picture, (name, order) in enumerate(
        zip(pictures, scores.best(len(scores.labels)), strict=True)
    ):
        for rank, label in enumerate(order.tolist()):
            place = (picture, label)
            writer.writerow(
                [guarded(name), guarded(called[picture]), rank + 1, guarded(scores.labels[label]),
                 number(scores.cosine[place]),
                 "" if scores.probability is None else number(scores.probability[place]),
                 number(spread[place])]
            )  # fmt: skip
    # The mark lets spreadsheets see the encoding; a file's name may hold what is no Unicode.
    return file.getvalue().encode("utf-8-sig", errors="replace")


def number(value: SupportsFloat) -> float:
    """The value with six digits, which is what float32 holds."""
    return float(f"{float(value):.6g}")
