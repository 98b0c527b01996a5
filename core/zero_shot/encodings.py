"""Encodings: vectors of pictures and prompts, kept so that only what is new goes to the model."""

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import torch
from cachetools import LRUCache
from jaxtyping import Float
from torch import Tensor

from core.errors import InputError
from core.models.clip.model import PICTURES, ClipModel
from core.models.vision.images import MAX_PIXELS, Picture
from core.zero_shot.labels.templates import prompts

LIMIT_BYTES = 500_000_000
ENTRY_BYTES = 1_000  # about what a key and a tensor take beside the numbers
BATCH = {
    "pictures": PICTURES,
    "texts": 64,
}  # encoded together; after each batch its vectors are kept

Tell = Callable[[float], None]  # the share of what is missing that is done; may raise to stop
PictureSource = Picture | Callable[[], Picture]  # a picture, or how it is opened when it is needed
Turn = Callable[[], AbstractContextManager[Any]]  # entered around each batch


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
        pictures: Sequence[tuple[str, PictureSource]],
        mechanism: str | None = None,
        on_share: Tell | None = None,
        *,
        turn: Turn | None = None,
    ) -> Float[Tensor, "picture dim"]:
        """A vector of length 1 for each picture; a stop keeps the batches that are done.

        Args:
            model: whose image tower encodes what is not there yet.
            pictures: each with a digest that no other picture shares. A function that opens
                one is called only if its vector is missing, and few are open at a time.
            mechanism: name in MECHANISMS; None leaves the model's own attention.
            on_share: told the share of the missing ones that is done, outside of `turn`.
            turn: makes a context that is entered around each batch, such as a place in a queue.

        Raises:
            InputError: if there is no picture, one cannot be opened, or the model refuses one.
        """
        if not pictures:
            raise InputError("At least one picture was wanted; none came.")

        def encode(some: list[PictureSource]) -> Tensor:
            groups = [model.encode_pictures(group, mechanism) for group in _opened(some)]
            with self._lock:
                self.encoded_pictures += len(some)
            return torch.cat(groups)

        place = _place(model, mechanism, "pictures")
        rows = self._rows(place, dict(pictures), encode, on_share, turn)
        return torch.stack([rows[digest] for digest, _ in pictures])

    def texts(
        self,
        model: ClipModel,
        texts: Sequence[str],
        mechanism: str | None = None,
        on_share: Tell | None = None,
        *,
        turn: Turn | None = None,
    ) -> Float[Tensor, "text dim"]:
        """A vector of length 1 for each text; the rest is as in `pictures`.

        Raises:
            InputError: if there is no text, or the model refuses one.
        """
        if not texts:
            raise InputError("At least one text was wanted; none came.")

        def encode(some: list[str]) -> Tensor:
            vectors = model.encode_texts(some, mechanism)
            with self._lock:
                self.encoded_texts += len(some)
            return vectors

        digests = [_digest(text) for text in texts]
        wanted = dict(zip(digests, texts, strict=True))
        rows = self._rows(_place(model, mechanism, "texts"), wanted, encode, on_share, turn)
        return torch.stack([rows[digest] for digest in digests])

    def labels(
        self,
        model: ClipModel,
        labels: Sequence[str],
        templates: Sequence[str],
        mechanism: str | None = None,
        on_share: Tell | None = None,
        *,
        turn: Turn | None = None,
    ) -> Float[Tensor, "template label dim"]:
        """A vector of length 1 for each label in each template; never change it in place.

        The whole answer is kept beside the single vectors, as looking up 7,000 of them takes time.

        Raises:
            InputError: if there are no labels or too many, or the model refuses one.
        """
        place = _place(model, mechanism, "labels")
        digest = _digest(repr((tuple(labels), tuple(templates))))
        with self._lock:
            cached = self._cache.get((place, digest))
        if cached is not None:
            return cached
        vectors = self.texts(model, prompts(labels, templates), mechanism, on_share, turn=turn)
        vectors = vectors.unflatten(0, (len(templates), len(labels)))
        self._keep(place, [(digest, vectors)])
        return vectors

    def _rows(
        self,
        place: Place,
        wanted: Mapping[str, Any],
        encode: Callable[[list], Tensor],
        on_share: Tell | None,
        turn: Turn | None,
    ) -> dict[str, Tensor]:
        """A vector for each digest; those that are missing are encoded batch by batch."""
        with self._lock:
            rows = {digest: self._cache.get((place, digest)) for digest in wanted}
        missing = [digest for digest, row in rows.items() if row is None]
        for start in range(0, len(missing), BATCH[place.kind]):
            batch = missing[start : start + BATCH[place.kind]]
            with nullcontext() if turn is None else turn():
                vectors = encode([wanted[digest] for digest in batch])
            # Copies: a view would keep the vectors of its whole batch alive.
            new = [(digest, row.clone()) for digest, row in zip(batch, vectors, strict=True)]
            rows.update(new)
            self._keep(place, new)
            if on_share is not None:
                on_share((start + len(batch)) / len(missing))
        return rows

    def _keep(self, place: Place, new: Iterable[tuple[str, Tensor]]) -> None:
        with self._lock:
            for digest, vectors in new:
                if _size(vectors) <= self._cache.maxsize:
                    self._cache[place, digest] = vectors


def _opened(pictures: Iterable[PictureSource]) -> Iterator[list[Picture]]:
    """Pictures in groups that fit into memory: few together where they are large."""
    group, pixels = [], 0
    for each in pictures:
        picture = each if isinstance(each, Picture) else each()
        group.append(picture)
        pixels += picture.pixels.width * picture.pixels.height
        if pixels >= MAX_PIXELS:
            yield group
            group, pixels = [], 0
    if group:
        yield group


def _place(model: ClipModel, mechanism: str | None, kind: str) -> Place:
    return Place(model.name, str(model.device), str(model.dtype), mechanism, kind)


def _digest(text: str) -> str:
    """A short key for a text of any length."""
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=16).hexdigest()


def _size(vectors: Tensor) -> int:
    return vectors.nbytes + ENTRY_BYTES
