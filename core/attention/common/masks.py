"""Masks: which key may a query look at?

Boolean masks are True where a query may look (torch's convention); float masks are added to the
scores, and minus infinity, or the lowest number of their type, forbids. Masks of 2 to 4 axes are
broadcast from the right to `batch head q k`, as torch does.
"""

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

Mask = Bool[Tensor, "..."] | Float[Tensor, "..."]


def causal_mask(
    q: int, k: int, *, bottom_right: bool = False, device: torch.device | str = "cpu"
) -> Bool[Tensor, "q k"]:
    """True where a query may look: itself and what came before.

    `is_causal=True` of every mechanism means the top-left form (query i sees keys 0..i), as in
    torch. Decoding with a cache needs the bottom-right form: the last query sees every key.
    """
    offset = k - q if bottom_right else 0
    return torch.ones(q, k, dtype=torch.bool, device=device).tril(offset)


def padding_mask(lengths: Int[Tensor, " batch"], k: int) -> Bool[Tensor, "batch 1 1 k"]:
    """True at the first `lengths[i]` keys of sequence i: the keys that are not padding."""
    return (torch.arange(k, device=lengths.device) < lengths[:, None])[:, None, None, :]


def allowed(mask: Mask) -> Bool[Tensor, "..."]:
    """True where the mask lets a query look at a key, whatever else it adds to the score."""
    if mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min


def check_mask(mask: Mask, shape: tuple[int, int, int, int]) -> None:
    """Refuse a mask that cannot be broadcast to `batch head q k`.

    Raises:
        ValueError: if the number of axes is not 2 to 4, or a size neither fits nor is 1.
    """
    sizes = tuple(mask.shape)
    fits = all(have in (1, want) for have, want in zip(sizes[::-1], shape[::-1], strict=False))
    if not 2 <= mask.ndim <= 4 or not fits:
        raise ValueError(
            f"a mask of 2 to 4 axes that broadcasts to (batch, head, q, k) = {shape} was wanted; "
            f"one of shape {sizes} came"
        )


def batch_mask(
    mask: Shaped[Tensor, "..."] | None, shape: tuple[int, int, int, int]
) -> Shaped[Tensor, "#batch #head #q #k"] | None:
    """A layer's mask with the four axes of `batch head q k`, each full or 1.

    Taken are (k,), (q, k), (batch, q, k) and (batch, head, q, k), with 1 where it repeats. Two axes
    are always queries and keys: keys that differ from sequence to sequence need `padding_mask`, or
    four axes, because batch and q may be the same number.

    Raises:
        ValueError: if the mask is neither boolean nor float, or does not fit `shape`.
    """
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(
            f"a boolean mask (True: may look) or a float mask was wanted; {mask.dtype} came"
        )
    whole = slice(None)
    index = {1: (None, None, None), 2: (None, None), 3: (whole, None), 4: ()}.get(mask.ndim)
    spread = mask[index or ()]
    fits = all(have in (1, want) for have, want in zip(spread.shape, shape, strict=False))
    if index is None or not fits:
        raise ValueError(
            "a mask of shape (k,), (q, k), (batch, q, k) or (batch, head, q, k) was wanted, with "
            f"(batch, head, q, k) = {shape}; one of shape {tuple(mask.shape)} came. For keys that "
            "differ from sequence to sequence, give padding_mask(lengths, k)"
        )
    return spread


def merged(mask: Mask | None, is_causal: bool, q: int, k: int) -> Mask | None:
    """The mask and causality (top-left) as one mask that forbids with False or minus infinity.

    Its axes are still to be broadcast. None where every query may look at every key, or where
    `is_causal` says it all.
    """
    if mask is None:
        return None
    visible = allowed(mask)
    if is_causal:
        visible = visible & causal_mask(q, k, device=mask.device)
    return visible if mask.dtype == torch.bool else mask.masked_fill(~visible, -torch.inf)


def masked_softmax(
    scores: Float[Tensor, "batch head q k"], mask: Mask | None, is_causal: bool
) -> Float[Tensor, "batch head q k"]:
    """Softmax over the keys that are allowed; a row with no allowed key is all zeros, not NaN.

    Writes into `scores`, which the caller has just made. Scores that are NaN stay NaN: a broken
    model shall not look like a masked one.

    Raises:
        ValueError: if the mask cannot be broadcast to the scores.
    """
    q, k = scores.shape[-2:]
    if mask is None:
        if is_causal:
            ahead = torch.ones(q, k, dtype=torch.bool, device=scores.device).triu_(1)
            scores.masked_fill_(ahead, -torch.inf)
        return scores.softmax(dim=-1)
    check_mask(mask, tuple(scores.shape))
    bias = merged(mask, is_causal, q, k)
    visible = allowed(bias)
    blind = ~visible.any(dim=-1, keepdim=True)
    some_blind = bool(blind.any())
    if mask.dtype == torch.bool:
        scores.masked_fill_(~(visible | blind) if some_blind else ~visible, -torch.inf)
    else:
        scores.add_(bias.masked_fill(blind, 0) if some_blind else bias)
    weights = scores.softmax(dim=-1)
    # Not in place: the gradient of softmax needs its result as it was.
    return weights.masked_fill(blind, 0) if some_blind else weights
