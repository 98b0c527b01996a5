"""A text model of transformers: encoder, decoder or both, with a label for every position.

Source: https://huggingface.co/docs/transformers/model_doc/auto
"""

from collections.abc import Sequence
from dataclasses import replace
from inspect import signature
from threading import Lock

import torch
from jaxtyping import Float, Int
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from core.errors import InputError
from core.models.model import Model
from core.models.run import Output, Prepared
from core.models.text.facts import family, layers, max_positions, start_token, trunk
from core.models.text.labels import token_labels
from core.models.text.next_token import next_logits, predictions
from core.models.text.tokens import Tokens, padded, read, unknown_note, valid_unicode
from core.types import Group, Position

Texts = str | Sequence[str | tuple[str, str]]  # a pair is source and target

NOTHING_TYPED = "Type at least one word."
MAX_TEXTS = 64
MAX_TOKENS = 16_384  # of a run, padding included: beyond it memory runs out on a small machine


class TextModel(Model):
    """A model that reads text, and its tokenizer."""

    kind = "text"

    def __init__(
        self,
        module: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        name: str,
        *,
        title: str | None = None,
    ) -> None:
        """Wrap a module that is already built, on its device and in its precision."""
        self.name, self.title = name, title or name
        self.module, self.tokenizer = module.eval().requires_grad_(False), tokenizer
        self.family = family(module.config)
        self.device, self.dtype = module.device, module.dtype
        self.max_positions = max_positions(module, tokenizer)
        tokenizer.truncation_side = "right"  # what is cut is the end
        self._tokenizing = Lock()

    def prepare(self, texts: Texts) -> Prepared:
        """Tokens of one text, or of several as one padded batch.

        An encoder-decoder also takes pairs (source, target); without a target its decoder reads
        only its start token.

        Raises:
            InputError: if a text is blank, a target is given to a model that reads none, or there
                are too many texts for one run.
        """
        items = [texts] if isinstance(texts, str) else list(texts)
        if len(items) > MAX_TEXTS:
            raise InputError(
                f"At most {MAX_TEXTS} sentences in one run were wanted; {len(items):,} came: "
                "run fewer lines at once."
            )
        pairs = [(item, None) if isinstance(item, str) else item for item in items]
        if self.family != "encoder-decoder" and any(target is not None for _, target in pairs):
            raise InputError(
                f"'{self.name}' reads one text at a time; only an encoder-decoder reads a target."
            )
        texts = [valid_unicode(source) for source, _ in pairs]
        sources = [self._read(text) for text in texts]
        _check_typed(sources)
        _check_size([tokens.ids for tokens in sources])
        notes = [_numbered(tokens.note, index, sources) for index, tokens in enumerate(sources)]
        notes.append(unknown_note(self.name, sources))
        if any(a.count("�") > b.count("�") for a, (b, _) in zip(texts, pairs, strict=True)):
            notes.append("Characters that are not valid Unicode were read as '�'.")
        tensors, groups = self._source(sources)
        if self.family == "encoder-decoder":
            more, groups = self._with_target(groups[0], [target or "" for _, target in pairs])
            tensors |= more
        return Prepared(
            tensors={name: tensor.to(self.device) for name, tensor in tensors.items()},
            groups=groups,
            notes=tuple(note for note in notes if note),
            texts=tuple(tokens.read for tokens in sources),
            cut=tuple(tokens.cut for tokens in sources),
        )

    def forward(self, prepared: Prepared) -> Output:
        """Hidden states, an embedding of each text, and the likeliest next tokens.

        The embedding is the mean over a text's own positions, or the last of them for a decoder.
        """
        outputs = trunk(self.module)(**prepared.tensors, **self._without_cache())
        source, last = prepared.groups[0], _last(prepared.groups[-1])
        decoded = None
        if self.family == "encoder-decoder":
            hidden = outputs.encoder_last_hidden_state
            logits = outputs.get("logits")
            decoded = outputs.last_hidden_state if logits is None else logits
            logits = None if logits is None else logits[torch.arange(len(last)), last]
        else:
            hidden = outputs.last_hidden_state
            logits = next_logits(self.module, outputs, last) if self.family == "decoder" else None
        if self.family == "decoder":
            embedding = hidden[torch.arange(len(last)), last]
        else:
            embedding = _mean_of_own(hidden, source)
        likely = () if logits is None else predictions(self.tokenizer, logits)
        return Output(hidden, embedding, likely, decoded)

    def own_maps(self, prepared: Prepared) -> tuple[Tensor, ...]:
        """The library's own maps, for an architecture that has no fused attention."""
        wanted = {"output_attentions": True, **self._without_cache()}
        outputs = trunk(self.module)(**prepared.tensors, **wanted)
        maps = outputs.get("attentions") or outputs.get("encoder_attentions") or ()
        turns = zip(
            outputs.get("decoder_attentions") or (),
            outputs.get("cross_attentions") or (),
            strict=True,
        )
        if self.family == "encoder-decoder":
            maps = (*maps, *(layer for turn in turns for layer in turn))
        return tuple(layer for layer in maps if layer is not None)

    def _read(self, text: str, *, special: bool = True, limit: int | None = None) -> Tokens:
        limit = self._limit() if limit is None else limit
        with self._tokenizing:
            return read(self.tokenizer, text, limit, special=special)

    def _source(self, sources: Sequence[Tokens]) -> tuple[dict[str, Tensor], tuple[Group, ...]]:
        side = self.tokenizer.padding_side
        ids, mask, starts = padded([tokens.ids for tokens in sources], self._pad(), side)
        tensors = {"input_ids": ids}
        if mask is not None:
            tensors["attention_mask"] = mask
            if side == "left" and self.family == "decoder" and self._takes("position_ids"):
                # Without these a learned position would count the padding in.
                tensors["position_ids"] = (mask.cumsum(dim=1) - 1).clamp(min=0)
        positions = tuple(tokens.positions for tokens in sources)
        calls = tuple(range(layers(self.module.config)[0]))
        group = Group("self-attention", calls, positions, positions, starts, starts)
        return tensors, (group,)

    def _with_target(
        self, source: Group, targets: Sequence[str]
    ) -> tuple[dict[str, Tensor], tuple[Group, ...]]:
        start = start_token(self.module, self._pad())
        first = Position(token_labels(self.tokenizer, [start])[0], special=True)
        read = [
            self._read(valid_unicode(target), special=False, limit=self._limit() - 1)
            for target in targets
        ]
        rows = [(start, *tokens.ids) for tokens in read]
        _check_size(rows)
        ids, mask, starts = padded(rows, self._pad(), "right")
        tensors = {"decoder_input_ids": ids}
        if mask is not None:
            tensors["decoder_attention_mask"] = mask
        positions = tuple((first, *tokens.positions) for tokens in read)
        encoder, decoder = layers(self.module.config)
        own = tuple(encoder + 2 * layer for layer in range(decoder))
        cross = tuple(call + 1 for call in own)
        groups = (
            replace(source, name="encoder"),
            Group("decoder", own, positions, positions, starts, starts),
            Group("cross-attention", cross, positions, source.keys, starts, source.first_key),
        )
        return tensors, groups

    def _limit(self) -> int:
        """How many tokens of one text are read."""
        return min(self.max_positions, MAX_TOKENS)

    def _pad(self) -> int:
        """An id to fill rows with; the mask hides it, so any will do."""
        tokenizer = self.tokenizer
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id)
        return next((index for index in known if index is not None), 0)

    def _takes(self, argument: str) -> bool:
        return argument in signature(trunk(self.module).forward).parameters

    def _without_cache(self) -> dict[str, bool]:
        return {} if self.family == "encoder" else {"use_cache": False}


def _check_typed(sources: Sequence[Tokens]) -> None:
    for index, tokens in enumerate(sources):
        if not tokens.read.strip() or all(position.special for position in tokens.positions):
            raise InputError(_numbered(NOTHING_TYPED, index, sources))
    if not sources:
        raise InputError(NOTHING_TYPED)


def _check_size(rows: Sequence[Sequence[int]]) -> None:
    longest = max(len(row) for row in rows)
    if len(rows) * longest > MAX_TOKENS:
        raise InputError(
            f"At most {MAX_TOKENS:,} tokens in one run were wanted; {len(rows):,} sentences of up "
            f"to {longest:,} came: run fewer lines at once."
        )


def _numbered(sentence: str, index: int, texts: Sequence[Tokens]) -> str:
    """The sentence, with the number of its text where there are several."""
    if not sentence or len(texts) == 1:
        return sentence
    return f"Text {index + 1} of {len(texts)}: {sentence[0].lower()}{sentence[1:]}"


def _last(group: Group) -> Int[Tensor, " batch"]:
    """The last own query of each batch item."""
    pairs = zip(group.first_query, group.queries, strict=True)
    return torch.tensor([first + len(own) - 1 for first, own in pairs])


def _mean_of_own(
    hidden: Float[Tensor, "batch position dim"], group: Group
) -> Float[Tensor, "batch dim"]:
    """The mean over each item's own positions, taken in float32 at least."""
    exact = hidden.to(torch.promote_types(hidden.dtype, torch.float32))
    means = [
        row[first : first + len(own)].mean(dim=0)
        for row, first, own in zip(exact, group.first_query, group.queries, strict=True)
    ]
    return torch.stack(means).to(hidden.dtype)
