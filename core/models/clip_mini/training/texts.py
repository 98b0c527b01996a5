"""The sentence embeddings of all captions, computed once and kept."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

import torch
from jaxtyping import Float
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.models.clip_mini.training.data import Progress
from core.models.clip_mini.training.evaluation import Texts

# A name is said in each of these ways; other words stand alone.
TEMPLATES = ("{}", "a photo of a {}", "a picture of a {}")
BLOCK = 512


class Sentences:
    """Texts and their embeddings, rows of length 1."""

    def __init__(self, texts: Sequence[str], rows: Float[Tensor, "text dim"]) -> None:
        """Row i belongs to text i."""
        self.place = {text: index for index, text in enumerate(texts)}
        self.rows = rows

    def __call__(self, texts: Sequence[str]) -> Float[Tensor, "text dim"]:
        """The embeddings of some of the texts."""
        return self.rows[[self.place[text] for text in texts]]


def sentences(texts: Sequence[str], embed: Texts, folder: Path, on_progress: Progress) -> Sentences:
    """Embed texts, or read them from the folder where the same texts were embedded before."""
    # Texts of about one length together: little is spent on padding.
    ordered = sorted(dict.fromkeys(texts), key=lambda text: (len(text), text))
    key = hashlib.sha256("\n".join(ordered).encode()).hexdigest()[:16]
    path = folder / f"texts-{key}.safetensors"
    if not path.is_file():
        rows = []
        for start in range(0, len(ordered), BLOCK):
            rows.append(embed(ordered[start : start + BLOCK]))
            on_progress("captions", min(1.0, (start + BLOCK) / len(ordered)))
        folder.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(".partial")
        save_file({"rows": torch.cat(rows)}, partial)
        partial.replace(path)
    return Sentences(ordered, load_file(path)["rows"])
