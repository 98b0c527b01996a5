"""The text towers of open_clip: hidden states, the embedding made of them, and where it is read.

Source: open_clip's CLIP, TextTransformer and HFTextEncoder,
https://github.com/mlfoundations/open_clip
"""

from typing import NamedTuple

from jaxtyping import Float, Int
from open_clip.hf_model import HFTextEncoder, MeanPooler
from open_clip.model import CLIP
from open_clip.transformer import TextTransformer, text_global_pool
from torch import Tensor, nn

from core.errors import InputError
from core.models.clip.facts import Reader

Ids = Int[Tensor, "batch position"]


class Encoded(NamedTuple):
    """What a text tower gives."""

    hidden: Float[Tensor, "batch position dim"]
    embedding: Float[Tensor, "batch width"]  # not normalised


def text_part(module: nn.Module, name: str) -> nn.Module:
    """The part of a model that reads texts: a CLIP is it itself.

    Raises:
        InputError: if it is of a class that is not known here, or pools in no known way.
    """
    part = module if isinstance(module, CLIP) else getattr(module, "text", None)
    if not isinstance(part, (CLIP, TextTransformer, HFTextEncoder)):
        raise InputError(
            "A text tower of open_clip (CLIP, TextTransformer, HFTextEncoder) was wanted; that of "
            f"'{name}' is a {type(part).__name__}."
        )
    if _pool_type(part) == "none":
        raise InputError(
            f"A text tower that gives one embedding a text was wanted; that of '{name}' gives one "
            "a token."
        )
    return part


def encode(part: nn.Module, ids: Ids) -> Encoded:
    """Hidden states and embedding; gradients flow through both."""
    if isinstance(part, HFTextEncoder):
        mask = (ids != part.config.pad_token_id).long()
        output = part.transformer(input_ids=ids, attention_mask=mask)
        return Encoded(output.last_hidden_state, part.proj(part.pooler(output, mask)))
    embedded, mask = _embedded(part, ids)
    hidden = part.ln_final(part.transformer(embedded, attn_mask=mask))
    if getattr(part, "cls_emb", None) is not None:
        embedding = hidden[:, -1]
    else:
        end = part.text_eos_id if isinstance(part, CLIP) else part.eos_id
        embedding = text_global_pool(hidden, ids, _pool_type(part), eos_token_id=end)
    return Encoded(hidden, _projected(part, embedding))


def trimmed(part: nn.Module, ids: Ids) -> Int[Tensor, "batch shorter"]:
    """The ids without what fills up the longest text, where the tower takes any length.

    A tower of transformers hides the filling from every token, so only time is saved.
    """
    if not isinstance(part, HFTextEncoder):
        return ids
    used = (ids != part.config.pad_token_id).any(dim=0).nonzero()
    return ids[:, : 1 + int(used[-1])]


def reader(part: nn.Module, ids: Int[Tensor, " position"]) -> Reader:
    """Where the embedding of one text is read."""
    if isinstance(part, HFTextEncoder):
        return Reader("mean" if isinstance(part.pooler, MeanPooler) else "token")
    if getattr(part, "cls_emb", None) is not None:
        return Reader("token", len(ids))
    if (pool := _pool_type(part)) == "eos":
        end = part.text_eos_id if isinstance(part, CLIP) else part.eos_id
        return Reader("token", int((ids == end).int().argmax()))
    return Reader("token", {"first": 0, "last": len(ids) - 1}.get(pool, int(ids.argmax())))


def hides_padding(part: nn.Module) -> bool:
    """Does no token of a text ever see what the text is filled up with?"""
    if isinstance(part, HFTextEncoder):
        return True
    return part.attn_mask is not None or getattr(part, "use_pad_mask", False)


def width(part: nn.Module) -> int:
    """Numbers in an embedding."""
    if isinstance(part, HFTextEncoder):
        return part.output_dim
    projection = part.text_projection
    if projection is None:
        return part.ln_final.normalized_shape[0]
    return projection.out_features if isinstance(projection, nn.Linear) else projection.shape[1]


def _pool_type(part: nn.Module) -> str:
    return part.text_pool_type if isinstance(part, CLIP) else getattr(part, "pool_type", "")


def _embedded(part: nn.Module, ids: Ids) -> tuple[Tensor, Tensor | None]:
    """Tokens with their positions added, and the mask of all layers."""
    if isinstance(part, TextTransformer):
        return part._embeds(ids)
    dtype = part.transformer.get_cast_dtype()
    embedded = part.token_embedding(ids).to(dtype) + part.positional_embedding.to(dtype)
    return embedded, part.attn_mask


def _projected(part: nn.Module, pooled: Tensor) -> Tensor:
    projection = part.text_projection
    if projection is None:
        return pooled
    return projection(pooled) if isinstance(projection, nn.Linear) else pooled @ projection
