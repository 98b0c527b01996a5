"""Labels of tokens as a person reads them: real characters, visible spaces, bytes of split ones.

Source: how a token is spelt is read from the fast tokenizer's own decoder, never from its name;
byte-level spelling is that of Radford et al. 2019, https://github.com/openai/gpt-2
"""

import re
import unicodedata
from collections.abc import Sequence
from typing import NamedTuple

from transformers import PreTrainedTokenizerBase

SPACE, NEWLINE, TAB = "␣", "↵", "⇥"
CARRIER = "◌"  # bears a combining mark that would otherwise sit on whatever stands before it
CONTINUES = "##"  # WordPiece: the token goes on with the word before it

# Python's 'surrogateescape' keeps each byte that is no UTF-8 as one of these.
BROKEN_BYTES = re.compile("[\udc80-\udcff]+")
FALLBACK_BYTE = re.compile("<0x([0-9A-Fa-f]{2})>")
SHOWN_BYTES = re.compile("(?:<[89A-F][0-9A-F](?: [89A-F][0-9A-F])*>)+")


class Spelling(NamedTuple):
    """How the vocabulary of a fast tokenizer writes text down."""

    byte_level: bool  # each character stands for one byte
    metaspace: bool  # '▁' stands for a space
    byte_fallback: bool  # '<0xF0>' stands for a byte
    suffix: str  # closes a word, such as '</w>'


CLIP_SPELLING = Spelling(byte_level=True, metaspace=False, byte_fallback=False, suffix="</w>")


def token_labels(tokenizer: PreTrainedTokenizerBase, ids: Sequence[int]) -> tuple[str, ...]:
    """One label for each id; a character that is split over tokens shows as bytes, '<F0 9F>'."""
    tokens = tokenizer.convert_ids_to_tokens(list(ids))
    if not tokenizer.is_fast:
        return tuple(visible(token) for token in tokens)
    spelling = _spelling(tokenizer)
    added = tokenizer.added_tokens_decoder  # these are written as they are, in every spelling
    return tuple(
        visible(added[index].content if index in added else _text(index, token, spelling))
        for index, token in zip(ids, tokens, strict=True)
    )


def clip_label(token: str) -> str:
    """The label of a token of CLIP's own tokenizer: one byte a character, '</w>' closes a word."""
    return visible(_text(0, token, CLIP_SPELLING))


def visible(text: str) -> str:
    """The text with spaces, line ends, control characters and broken bytes made visible."""
    if text and unicodedata.category(text[0]) == "Mn":
        text = CARRIER + text
    return BROKEN_BYTES.sub(_hexadecimal, "".join(map(_visible_character, text)))


def word_ids(words: Sequence[int | None], labels: Sequence[str]) -> tuple[int | None, ...]:
    """Which word each token belongs to, None for special tokens.

    `words` is what the fast tokenizer says. Some tokenizers do not cut text into words and call it
    all one; there a token that begins with a space begins a word.
    """
    own = [index for index, word in enumerate(words) if word is not None]
    starts = [index for index in own[1:] if labels[index].startswith(SPACE)]
    if len({words[index] for index in own}) > 1 or not starts:
        return tuple(words)
    return tuple(
        None if word is None else sum(start <= index for start in starts)
        for index, word in enumerate(words)
    )


def word_label(labels: Sequence[str]) -> str:
    """The label of a word made of these tokens; bytes that complete a character become it."""
    rest = (label.removeprefix(CARRIER) for label in labels[1:])
    rest = (label.removeprefix(CONTINUES) if label != CONTINUES else label for label in rest)
    return SHOWN_BYTES.sub(_characters, labels[0] + "".join(rest))


def characters_of_bytes(labels: Sequence[str]) -> tuple[str, ...]:
    """What a label's bytes are parts of, together with their neighbours; "" where nothing is."""
    whole, parts, data = [""] * len(labels), [], b""
    for index, label in enumerate(labels):
        shown = SHOWN_BYTES.search(label)
        if shown is None:
            parts, data = [], b""
            continue
        parts, data = [*parts, index], data + _bytes(shown)
        character = visible(data.decode("utf-8", "surrogateescape"))
        if not SHOWN_BYTES.search(character):
            whole = [character if at in parts else own for at, own in enumerate(whole)]
            parts, data = [], b""
    return tuple(whole)


def _text(index: int, token: str | None, spelling: Spelling) -> str:
    """The text that a token stands for; bytes that are no UTF-8 are kept as surrogates."""
    if token is None:  # models pad their vocabulary with ids that the tokenizer never gives
        return f"<#{index}>"
    if spelling.byte_fallback and (byte := FALLBACK_BYTE.fullmatch(token)):
        return bytes.fromhex(byte[1]).decode("utf-8", "surrogateescape")
    ends_word = spelling.suffix and token.endswith(spelling.suffix)
    stem = token.removesuffix(spelling.suffix)
    if spelling.byte_level and all(character in BYTE_OF for character in stem):
        data = bytes(BYTE_OF[character] for character in stem)
        stem = data.decode("utf-8", "surrogateescape")
    if spelling.metaspace:
        stem = stem.replace("▁", " ")
    return f"{stem} " if ends_word else stem


def _spelling(tokenizer: PreTrainedTokenizerBase) -> Spelling:
    backend = tokenizer.backend_tokenizer
    parts = (backend.decoder, backend.pre_tokenizer, backend.normalizer)
    # The parts alone: serialising the whole tokenizer would write its vocabulary out each time.
    described = "".join(part.__getstate__().decode() for part in parts if part is not None)
    types = set(re.findall('"type":"([A-Za-z]+)"', described))
    return Spelling(
        byte_level="ByteLevel" in types,
        metaspace="Metaspace" in types or ("Replace" in types and "▁" in described),
        byte_fallback="ByteFallback" in types,
        suffix=getattr(backend.model, "end_of_word_suffix", None) or "",
    )


def _byte_of() -> dict[str, int]:
    """The byte that each character of a byte-level vocabulary stands for.

    Printable bytes of Latin-1 stand for themselves, the others are numbered from U+0100 on.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    itself = {chr(byte): byte for byte in printable}
    return itself | {chr(256 + index): byte for index, byte in enumerate(others)}


BYTE_OF = _byte_of()


def _visible_character(character: str) -> str:
    named = {" ": SPACE, "\n": NEWLINE, "\t": TAB}
    if character in named:
        return named[character]
    broken_byte = BROKEN_BYTES.match(character)
    # 'Cn': emoji newer than Python's tables; the browser's font may know them.
    if broken_byte or character.isprintable() or unicodedata.category(character) == "Cn":
        return character
    code = ord(character)
    return f"<{code:02X}>" if code < 0x80 else f"<U+{code:04X}>"


def _hexadecimal(run: re.Match[str]) -> str:
    return f"<{run.group().encode('utf-8', 'surrogateescape').hex(' ').upper()}>"


def _characters(run: re.Match[str]) -> str:
    return visible(_bytes(run).decode("utf-8", "surrogateescape"))


def _bytes(run: re.Match[str]) -> bytes:
    return bytes.fromhex(run.group().replace("<", " ").replace(">", " "))
