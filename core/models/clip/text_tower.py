"""The text tower of an open_clip model: texts in, maps and one embedding a text out.

Source: Radford et al. 2021, https://arxiv.org/abs/2103.00020
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from core.errors import InputError
from core.models.clip import textual
from core.models.clip.facts import Reader
from core.models.clip.reading import Reading
from core.models.clip.tower import Tower, attended, groups
from core.models.run import Output, Prepared
from core.models.text.model import MAX_TEXTS, NOTHING_TYPED
from core.models.text.tokens import Tokens, unknown_note, valid_unicode
from core.types import Group, Position

PADDING, CLS = Position("padding", special=True), Position("CLS", special=True)


class TextTower(Tower):
    """The half that reads texts."""

    kind, side = "text", "text"

    def __init__(
        self,
        module: nn.Module,
        name: str,
        title: str,
        device: torch.device,
        dtype: torch.dtype,
        *,
        reading: Reading,
    ) -> None:
        """Wrap the text side of a module; runs it once, on a short text.

        Raises:
            InputError: if it is of a kind that is not known here.
        """
        super().__init__(module, name, title, device, dtype)
        self.reading, self.part = reading, textual.text_part(module, name)
        ids = reading.ids(["a"]).to(device)
        self._calls = attended(lambda: textual.encode(self.part, ids)) or ()
        length = ids.shape[1] + (getattr(self.part, "cls_emb", None) is not None)
        found = groups(self._calls, (PADDING,) * length, 1)
        self.mapped = len(found) == 1

    def prepare(self, texts: str | Sequence[str]) -> Prepared:
        """Ids of one text or several, each filled up to the context.

        What a text is filled up with is no position of it, unless the model looks at it.

        Raises:
            InputError: if a text is blank, or there are too many for one run.
        """
        texts = [texts] if isinstance(texts, str) else list(texts)
        if len(texts) > MAX_TEXTS:
            raise InputError(
                f"At most {MAX_TEXTS} texts in one run were wanted; {len(texts):,} came: "
                "run fewer lines at once."
            )
        ids, read = self.ids(texts), [self.reading.tokens(valid_unicode(text)) for text in texts]
        notes = [
            f"'{text[:40]}': {tokens.note[0].lower()}{tokens.note[1:]}"
            if len(texts) > 1
            else tokens.note
            for text, tokens in zip(texts, read, strict=True)
            if tokens.note
        ]
        notes.append(unknown_note(self.name, read))
        return Prepared(
            tensors={"input_ids": ids},
            groups=self._groups(ids, read),
            notes=tuple(note for note in notes if note),
            texts=tuple(tokens.read for tokens in read),
            cut=tuple(tokens.cut for tokens in read),
        )

    def ids(self, texts: Sequence[str]) -> Int[Tensor, "batch position"]:
        """The ids of each text as the tower reads them.

        Raises:
            InputError: if there is no text, or a blank one.
        """
        if not texts:
            raise InputError(NOTHING_TYPED)
        blank = next((index for index, text in enumerate(texts) if not text.strip()), None)
        if blank is not None:
            where = f" (text {blank + 1} of {len(texts)} is blank)" if len(texts) > 1 else ""
            raise InputError(f"{NOTHING_TYPED.removesuffix('.')}{where}.")
        ids = self.reading.ids([valid_unicode(text) for text in texts])
        return textual.trimmed(self.part, ids).to(self.device)

    def forward(self, prepared: Prepared) -> Output:
        """The last hidden states and the embedding, not normalised."""
        encoded = textual.encode(self.part, prepared.tensors["input_ids"])
        return Output(encoded.hidden, encoded.embedding)

    def embed(self, prepared: Prepared) -> Float[Tensor, "batch dim"]:
        """The embedding of each text, not normalised; gradients flow through it."""
        return self.encode(prepared.tensors["input_ids"])

    def encode(self, ids: Int[Tensor, "batch position"]) -> Float[Tensor, "batch dim"]:
        """The embedding of texts that are ids already."""
        return textual.encode(self.part, ids).embedding

    def reader(self, prepared: Prepared, item: int = 0) -> Reader:
        """How the last hidden states of one text become its embedding."""
        return textual.reader(self.part, prepared.tensors["input_ids"][item])

    def _groups(
        self, ids: Int[Tensor, "batch position"], read: Sequence[Tokens]
    ) -> tuple[Group, ...]:
        if not self.mapped:
            return ()
        own = tuple(self._positions(row, tokens) for row, tokens in zip(ids, read, strict=True))
        starts = (0,) * len(own)
        calls = tuple(range(len(self._calls)))
        return (Group("self-attention", calls, own, own, starts, starts),)

    def _positions(self, ids: Int[Tensor, " position"], tokens: Tokens) -> tuple[Position, ...]:
        """The positions of one text; all of them where it is read, or looks, beyond its end."""
        own = tokens.positions
        place = textual.reader(self.part, ids)
        if textual.hides_padding(self.part) and (place.kind == "mean" or place.index < len(own)):
            return own
        filled = own + (PADDING,) * (len(ids) - len(own))
        return filled + (CLS,) * (place.index == len(ids))
