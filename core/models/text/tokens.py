"""One text made into tokens: ids, what each position is, and how much of the text fits.

Source: https://huggingface.co/docs/transformers/main_classes/tokenizer
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor
from transformers import BatchEncoding, PreTrainedTokenizerBase

from core.models.text.labels import token_labels, visible, word_ids
from core.types import Position

UNKNOWN = "[{}?]"  # the label of a piece that the tokenizer does not know
READS_ALL = "smollm2"  # of the list: its tokens go down to single bytes
APOSTROPHES = ("'", "’")


@dataclass(frozen=True)
class Tokens:
    """A text as a model reads it."""

    ids: tuple[int, ...]
    positions: tuple[Position, ...]
    total: int  # tokens of the whole text, special ones included
    read: str
    cut: str  # the end of the text, where it does not fit
    unknown: tuple[str, ...] = ()  # pieces that are no token of this tokenizer, all read as one

    @property
    def note(self) -> str:
        """What was left out, as a sentence; empty if nothing was."""
        if not self.cut:
            return ""
        return f"The first {len(self.ids):,} of {self.total:,} tokens were read."


def read(
    tokenizer: PreTrainedTokenizerBase, text: str, limit: int, *, special: bool = True
) -> Tokens:
    """The tokens of a text, cut to `limit`; `special` adds the model's own, such as [CLS].

    Changes the state of a fast tokenizer while it runs: call it from one thread at a time.
    """
    wanted = {
        "add_special_tokens": special,
        "return_special_tokens_mask": True,
        "return_offsets_mapping": tokenizer.is_fast,
        "verbose": False,
    }
    uncut = tokenizer(text, **wanted)
    total = len(uncut["input_ids"])
    if total <= limit:
        positions = _positions(tokenizer, uncut, text)
        unknown = tuple(_unknown(tokenizer, uncut, text).values())
        return Tokens(tuple(uncut["input_ids"]), positions, total, text, "", unknown)
    encoding = tokenizer(text, truncation=True, max_length=limit, **wanted)
    ids = tuple(encoding["input_ids"])
    room = len(ids) - sum(encoding["special_tokens_mask"])
    if tokenizer.is_fast:
        end = max(stop for _, stop in encoding["offset_mapping"])
        seen, cut = text[:end], text[end:]
    else:  # these do not say where a token stood, only how it reads
        pairs = zip(uncut["input_ids"], uncut["special_tokens_mask"], strict=True)
        own = [index for index, added in pairs if not added]
        seen, cut = tokenizer.decode(own[:room]), tokenizer.decode(own[room:])
    unknown = tuple(_unknown(tokenizer, encoding, text).values())
    return Tokens(ids, _positions(tokenizer, encoding, text), total, seen, cut, unknown)


def padded(
    rows: Sequence[Sequence[int]], pad: int, side: str
) -> tuple[Int[Tensor, "batch position"], Int[Tensor, "batch position"] | None, tuple[int, ...]]:
    """Ids as one tensor, its mask (1: not padding), and where each row's own positions start.

    Rows of one length need no mask: without one a model takes its fastest path.
    """
    length = max(len(row) for row in rows)
    ids = torch.full((len(rows), length), pad)
    mask = torch.zeros_like(ids)
    starts = tuple(length - len(row) if side == "left" else 0 for row in rows)
    for index, (row, start) in enumerate(zip(rows, starts, strict=True)):
        ids[index, start : start + len(row)] = torch.tensor(row, dtype=torch.long)
        mask[index, start : start + len(row)] = 1
    return ids, None if mask.all() else mask, starts


def unknown_note(name: str, texts: Sequence[Tokens]) -> str:
    """How much of some texts a model does not know, and which model reads it; empty if nothing."""
    unknown = sum(len(tokens.unknown) for tokens in texts)
    if not unknown:
        return ""
    total = sum(len(tokens.ids) for tokens in texts)
    return (
        f"{unknown:,} of {total:,} tokens are unknown to '{name}', marked {UNKNOWN.format('...')}: "
        f"it reads all of them as one and the same token. '{READS_ALL}' reads any writing."
    )


def valid_unicode(text: str) -> str:
    """The text with halves of surrogate pairs put together, and lone ones shown as '�'."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def special_ids(tokenizer: PreTrainedTokenizerBase) -> frozenset[int]:
    """Ids that stand for no text; the unknown and the mask token stand for some."""
    marks = ("bos_token_id", "eos_token_id", "sep_token_id", "cls_token_id", "pad_token_id")
    stand_for_text = {tokenizer.unk_token_id, tokenizer.mask_token_id}
    stand_for_text -= {getattr(tokenizer, mark) for mark in marks}
    return frozenset(tokenizer.all_special_ids) - stand_for_text


def _positions(
    tokenizer: PreTrainedTokenizerBase, encoding: BatchEncoding, text: str
) -> tuple[Position, ...]:
    ids, added = encoding["input_ids"], encoding["special_tokens_mask"]
    labels = list(token_labels(tokenizer, ids))
    for index, piece in _unknown(tokenizer, encoding, text).items():
        labels[index] = UNKNOWN.format(visible(piece))
    words = [None] * len(ids)
    if tokenizer.is_fast:
        words = _joined(encoding.word_ids(), encoding["offset_mapping"], text)
    special = special_ids(tokenizer)
    parts = zip(ids, added, labels, word_ids(words, labels), strict=True)
    return tuple(
        Position(label, True) if mark or index in special else Position(label, word=word)
        for index, mark, label, word in parts
    )


def _unknown(
    tokenizer: PreTrainedTokenizerBase, encoding: BatchEncoding, text: str
) -> dict[int, str]:
    """The piece of text at each position that is unknown to the tokenizer."""
    unknown = tokenizer.unk_token_id
    if not tokenizer.is_fast or unknown is None or unknown in special_ids(tokenizer):
        return {}
    return {
        index: text[slice(*encoding["offset_mapping"][index])]
        for index, own in enumerate(encoding["input_ids"])
        if own == unknown
    }


def _joined(
    words: Sequence[int | None], spans: Sequence[tuple[int, int]], text: str
) -> list[int | None]:
    """Words of which those on both sides of an apostrophe inside a word are one: "didn't"."""
    joined = list(words)
    for index in range(1, len(words)):
        if words[index] is None or words[index - 1] is None:
            continue
        touch = spans[index - 1][1] == spans[index][0]
        inside = touch and _inside_word(text, spans[index][0])
        if inside or words[index] == words[index - 1]:
            joined[index] = joined[index - 1]
    return joined


def _inside_word(text: str, border: int) -> bool:
    """Is there, before or behind this place, an apostrophe that stands between two letters?"""
    return any(
        text[place] in APOSTROPHES and text[place - 1].isalpha() and text[place + 1].isalpha()
        for place in (border - 1, border)
        if 0 < place < len(text) - 1
    )
