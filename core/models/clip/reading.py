"""Texts as an open_clip model reads them: ids, a label for every position, and what was cut.

Source: open_clip's tokenizers,
https://github.com/mlfoundations/open_clip/blob/main/src/open_clip/tokenizer.py
"""

from collections.abc import Sequence
from dataclasses import replace
from threading import Lock

from jaxtyping import Int
from open_clip.tokenizer import HFTokenizer, SimpleTokenizer
from torch import Tensor

from core.errors import InputError
from core.models.text.labels import clip_label
from core.models.text.tokens import Tokens, read
from core.types import Position

START, END = Position("start", special=True), Position("end", special=True)


class Reading:
    """A tokenizer of open_clip, asked for more than ids."""

    def __init__(self, tokenizer: SimpleTokenizer | HFTokenizer, name: str) -> None:
        """Wrap a tokenizer.

        Raises:
            InputError: if it is of a kind that is not known here.
        """
        if isinstance(tokenizer, HFTokenizer):
            known = tokenizer.tokenizer.padding_side == "right" and not tokenizer.tokenizer_mode
        else:
            known = isinstance(tokenizer, SimpleTokenizer) and tokenizer.reduction_fn is None
        if not known:
            raise InputError(
                f"A tokenizer that reads a text from its start and fills it up at its end was "
                f"wanted; '{name}' has another ({type(tokenizer).__name__})."
            )
        self.tokenizer, self.context = tokenizer, tokenizer.context_length
        # A fast tokenizer keeps how it cuts and pads as state: one thread at a time.
        self._tokenizing = Lock()

    def ids(self, texts: Sequence[str]) -> Int[Tensor, "text position"]:
        """The ids of each text, filled up to the context, as the tokenizer itself gives them."""
        with self._tokenizing:
            return self.tokenizer(list(texts))

    def tokens(self, text: str) -> Tokens:
        """What each position of a text is, without what it is filled up with; and what was cut."""
        clean = self.tokenizer.clean_fn(text)
        with self._tokenizing:
            if isinstance(self.tokenizer, SimpleTokenizer):
                tokens = _simple(self.tokenizer, clean)
            else:
                tokens = read(self.tokenizer.tokenizer, clean, self.context)
        if not tokens.cut:
            return replace(tokens, read=text)
        seen, cut = _as_typed(text, tokens.read, tokens.cut)
        return replace(tokens, read=seen, cut=cut)


def _simple(tokenizer: SimpleTokenizer, clean: str) -> Tokens:
    """A text cut into words by the tokenizer's own pattern, each word into its tokens."""
    names, words, starts = [], [], []
    word, end = -1, None
    for match in tokenizer.pat.finditer(clean):
        tail = match.group().startswith("'") and match.start() == end and len(match.group()) > 1
        word, end = word if tail else word + 1, match.end()
        place = match.start()
        encoded = "".join(tokenizer.byte_encoder[byte] for byte in match.group().encode())
        for name in tokenizer.bpe(encoded).split(" "):
            names.append(name)
            words.append(word)
            starts.append(place)
            place += len(_characters(tokenizer, name))
    room = tokenizer.context_length - 2
    ids = [tokenizer.encoder[name] for name in names]
    labels = [
        END if index == tokenizer.eot_token_id else
        START if index == tokenizer.sot_token_id else Position(clip_label(name), word=word)
        for index, name, word in zip(ids, names, words, strict=True)
    ]  # fmt: skip
    place = starts[room] if len(names) > room else len(clean)
    return Tokens(
        (tokenizer.sot_token_id, *ids[:room], tokenizer.eot_token_id),
        (START, *labels[:room], END),
        len(names) + 2,
        clean[:place],
        clean[place:],
    )


def _characters(tokenizer: SimpleTokenizer, name: str) -> str:
    """The characters of a token; one that is split over tokens counts where it begins."""
    stem = name.removesuffix("</w>")
    data = bytes(tokenizer.byte_decoder[character] for character in stem)
    return "".join(chr(byte) for byte in data if byte & 0xC0 != 0x80)


def _as_typed(text: str, seen: str, cut: str) -> tuple[str, str]:
    """The cut at its place in the text as it was typed; in the cleaned one, where that differs.

    Cleaning mostly changes spaces and case only: then counting the other characters finds it.
    """
    typed, cleaned = "".join(text.split()), "".join((seen + cut).split())
    if len(typed) != len(cleaned) or typed.lower() != cleaned.lower():
        return seen, cut
    left = len("".join(seen.split()))
    for place, character in enumerate(text):
        if left == 0:
            return text[:place], text[place:]
        left -= not character.isspace()
    return text, ""
