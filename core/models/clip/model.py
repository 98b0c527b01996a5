"""A CLIP of open_clip: two towers into one space, and what makes a score of a cosine.

Source: Radford et al. 2021, https://arxiv.org/abs/2103.00020; Zhai et al. 2023 (SigLIP),
https://arxiv.org/abs/2303.15343
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

import torch
import torch.nn.functional as F
from jaxtyping import Float
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from open_clip.transform import PreprocessCfg
from torch import Tensor, nn

from core.attention import MECHANISMS
from core.attention.common.grid import Grid
from core.capture import capture
from core.errors import InputError
from core.models.clip import textual
from core.models.clip.facts import facts
from core.models.clip.image_tower import ImageTower
from core.models.clip.reading import Reading
from core.models.clip.text_tower import TextTower
from core.models.finite import require_finite_scores, require_finite_vectors
from core.models.model import memory_explained
from core.models.text.tokens import valid_unicode
from core.models.vision.images import Picture

PICTURES = 4  # that go through a tower together: with more, a processor's caches overflow
Share = Callable[[float], None]  # told the share that is done, 0 to 1; may raise to stop


class ClipModel:
    """Pictures and texts in one space."""

    kind: Literal["clip"] = "clip"

    def __init__(
        self,
        module: nn.Module,
        tokenizer: SimpleTokenizer | HFTokenizer,
        name: str,
        *,
        preprocess: PreprocessCfg | None = None,
        title: str | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        """Wrap an open_clip model that is already built.

        Args:
            module: a CLIP, CustomTextCLIP or CoCa of open_clip.
            tokenizer: the one it was trained with.
            name: how the model is called by.
            preprocess: what it does to pictures; None takes what the module itself carries.
            title: how a person reads it; the name, if None.
            device: where it shall run.
            dtype: what it shall compute in.

        Raises:
            InputError: if one of its parts is of a kind that is not known here, or what its cosines
                are multiplied by is no number.
        """
        if preprocess is None:
            preprocess = PreprocessCfg(**module.visual.preprocess_cfg)
        self.name, self.title = name, title or name
        self.device, self.dtype = torch.device(device), dtype
        reading = Reading(tokenizer, name)
        width = textual.width(textual.text_part(module, name))
        self.facts = facts(module, preprocess, reading.context, width)
        require_finite_scores(name, self.facts.scale, self.facts.bias)
        self.module = module.to(self.device, dtype).eval().requires_grad_(False)
        own = (self.module, name, self.title, self.device, dtype)
        with memory_explained(name):
            self.image = ImageTower(*own, preprocess=preprocess)
            self.text = TextTower(*own, reading=reading)

    @property
    def scale(self) -> float:
        """What a cosine is multiplied by: exp(logit_scale)."""
        return self.facts.scale

    @property
    def bias(self) -> float | None:
        """What is added to it then, None for models without one."""
        return self.facts.bias

    @property
    def sigmoid(self) -> bool:
        """Is each label scored for itself, by sigmoid(scale x cosine + bias)?"""
        return self.facts.sigmoid

    def encode_pictures(
        self,
        pictures: Sequence[Picture],
        mechanism: str | None = None,
        *,
        on_share: Share | None = None,
        batch: int = PICTURES,
    ) -> Float[Tensor, "picture dim"]:
        """One row of length 1 a picture, float32, on the CPU.

        Args:
            pictures: as `core.models.vision.images` opens them.
            mechanism: name in MECHANISMS; None leaves the model's own kernel alone.
            on_share: told the share that is done, 0 to 1; may raise to stop.
            batch: pictures that go through the tower together.

        Raises:
            InputError: if the mechanism or the memory does not allow it.
        """
        encode = lambda some: self.image.encode(self.image.pixels(some))  # noqa: E731
        how = routed(mechanism, self.image.grid)
        return self._encoded(pictures, encode, how, on_share, batch)

    def encode_texts(
        self,
        prompts: Sequence[str],
        mechanism: str | None = None,
        *,
        on_share: Share | None = None,
        batch: int = 64,
    ) -> Float[Tensor, "text dim"]:
        """One row of length 1 a text, float32, on the CPU; see `encode_pictures`.

        Raises:
            InputError: if a text is blank, or the mechanism or the memory does not allow it.
        """
        encode = lambda some: self.text.encode(self.text.ids(some))  # noqa: E731
        return self._encoded(prompts, encode, routed(mechanism), on_share, batch)

    def cut_words(self, prompt: str) -> tuple[str, str]:
        """What of a text is read, and what is cut at the tokenizer's limit ('' if nothing)."""
        tokens = self.text.reading.tokens(valid_unicode(prompt))
        return tokens.read, tokens.cut

    def _encoded(
        self,
        inputs: Sequence[Picture] | Sequence[str],
        encode: Callable[[Sequence], Float[Tensor, "some dim"]],
        how: AbstractContextManager,
        on_share: Share | None,
        batch: int,
    ) -> Float[Tensor, "item dim"]:
        rows = [torch.empty(0, self.facts.width)]
        with torch.inference_mode(), memory_explained(self.name), how:
            for start in range(0, len(inputs), batch):
                vectors = encode(inputs[start : start + batch]).float()
                require_finite_vectors(self.name, vectors)
                rows.append(F.normalize(vectors, dim=-1).cpu())
                if on_share is not None:
                    on_share(min(1.0, (start + batch) / len(inputs)))
        return torch.cat(rows)


@contextmanager
def routed(mechanism: str | None, grid: Grid | None = None) -> Iterator[None]:
    """Send every attention call of the block to a mechanism; None leaves it alone.

    `grid` is how the positions of a picture lie, where it is one that is read.

    Raises:
        InputError: if there is no such mechanism.
    """
    if mechanism is not None and mechanism not in MECHANISMS:
        raise InputError(f"One of {', '.join(MECHANISMS)} was wanted; '{mechanism}' came.")
    with nullcontext() if mechanism is None else capture(mechanism, grid=grid, record=False):
        yield
