"""Encodings: vectors of pictures and prompts, kept so that only what is new goes to the model."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from cachetools import LRUCache
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.models.clip.model import ClipModel
from core.models.images import Picture
from core.zero_shot.templates import prompts

LIMIT_BYTES = 500_000_000
ENTRY_BYTES = 1_000  # about what a key and a tensor take beside the numbers

Tell = Callable[[float], None]  # the share that is done, 0 to 1; may raise to stop


class Place(NamedTuple):
    """What vectors must share to be compared: the same model, run in the same way."""

    model: str
    device: str
    precision: str
    mechanism: str | None
    kind: str  # 'pictures', 'texts' or 'labels'


class Encodings:
    """The latest vectors of all models, up to so many bytes; safe for several threads.

    The model runs outside the lock: two threads that ask for the same at once may both encode it.
    """

    def __init__(self, limit_bytes: int = LIMIT_BYTES) -> None:
        """Hold up to `limit_bytes`; the vectors that were looked at longest ago make room."""
        self._cache: LRUCache = LRUCache(limit_bytes, getsizeof=_size)
        self._lock = threading.Lock()
        self.encoded_pictures = 0  # how many really went through a model
        self.encoded_texts = 0

    @property
    def nbytes(self) -> int:
        """About what is held."""
        return self._cache.currsize

    def pictures(
        self,
        model: ClipModel,
        given: Sequence[tuple[str, Picture]],
        mechanism: str | None = None,
        on_share: Tell | None = None,
    ) -> Float[Tensor, "picture dim"]:
        """A vector of length 1 for each picture.

        Args:
            model: whose image tower encodes what is not there yet.
            given: pictures, each with a digest that no other picture shares.
            mechanism: name in MECHANISMS; None leaves the model's own attention.
            on_share: told the share of the missing ones that is done.

        Raises:
            InputError: if there is no picture, or the model refuses one.
        """
        if not given:
            raise InputError("At least one picture was wanted; none came.")

        def encode(missing: list[Picture]) -> Tensor:
            return model.encode_pictures(missing, mechanism, on_share=on_share)

        rows, encoded = self._rows(_place(model, mechanism, "pictures"), dict(given), encode)
        with self._lock:
            self.encoded_pictures += encoded
        return torch.stack([rows[digest] for digest, _ in given])

    def texts(
        self,
        model: ClipModel,
        texts: Sequence[str],
        mechanism: str | None = None,
        on_share: Tell | None = None,
    ) -> Float[Tensor, "text dim"]:
        """A vector of length 1 for each text; the rest is as in `pictures`.

        Raises:
            InputError: if there is no text, or the model refuses one.
        """
        if not texts:
            raise InputError("At least one text was wanted; none came.")

        def encode(missing: list[str]) -> Tensor:
            return model.encode_texts(missing, mechanism, on_share=on_share)

        digests = [_digest(text) for text in texts]
        wanted = dict(zip(digests, texts, strict=True))
        rows, encoded = self._rows(_place(model, mechanism, "texts"), wanted, encode)
        with self._lock:
            self.encoded_texts += encoded
        return torch.stack([rows[digest] for digest in digests])

    def labels(
        self,
        model: ClipModel,
        labels: Sequence[str],
        templates: Sequence[str],
        mechanism: str | None = None,
        on_share: Tell | None = None,
    ) -> Float[Tensor, "template label dim"]:
        """A vector of length 1 for each label in each template; never change it in place.

        The whole answer is kept beside the single vectors, as looking up 7,000 of them takes time.

        Raises:
            InputError: if there are no labels or too many, or the model refuses one.
        """
        place = _place(model, mechanism, "labels")
        digest = _digest(repr((tuple(labels), tuple(templates))))
        with self._lock:
            kept = self._cache.get((place, digest))
        if kept is not None:
            return kept
        vectors = self.texts(model, prompts(labels, templates), mechanism, on_share)
        vectors = vectors.unflatten(0, (len(templates), len(labels)))
        self._keep(place, [(digest, vectors)])
        return vectors

    def _rows(
        self, place: Place, wanted: Mapping[str, Any], encode: Callable[[list], Tensor]
    ) -> tuple[dict[str, Tensor], int]:
        """A vector for each digest, and how many of them had to be encoded."""
        with self._lock:
            rows = {digest: self._cache.get((place, digest)) for digest in wanted}
        missing = [digest for digest, row in rows.items() if row is None]
        if missing:
            vectors = encode([wanted[digest] for digest in missing])
            # Copies: a view would keep the vectors of its whole batch alive.
            new = [(digest, row.clone()) for digest, row in zip(missing, vectors, strict=True)]
            rows.update(new)
            self._keep(place, new)
        return rows, len(missing)

    def _keep(self, place: Place, new: Iterable[tuple[str, Tensor]]) -> None:
        with self._lock:
            for digest, vectors in new:
                if _size(vectors) <= self._cache.maxsize:
                    self._cache[place, digest] = vectors


def _place(model: ClipModel, mechanism: str | None, kind: str) -> Place:
    return Place(model.name, str(model.device), str(model.dtype), mechanism, kind)


def _digest(text: str) -> str:
    """A short key for a text of any length."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _size(vectors: Tensor) -> int:
    return vectors.nbytes + ENTRY_BYTES
