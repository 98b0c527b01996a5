"""Masks: which key may a query look at?

Boolean masks are True where a query may look (torch's convention); float masks are added to the
scores, and minus infinity, or the lowest number of their type, forbids. Masks of 2 to 4 axes are
broadcast from the right to `batch head q k`, as torch does.
"""

import torch
from jaxtyping import Bool, Float, Int
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


def masked_softmax(
    scores: Float[Tensor, "batch head q k"], mask: Mask | None, is_causal: bool
) -> Float[Tensor, "batch head q k"]:
    """Softmax over the keys that are allowed; a row with no allowed key is all zeros, not NaN.

    Writes into `scores`, which the caller has just made.
    """
    if mask is not None:
        check_mask(mask, tuple(scores.shape))
        if mask.dtype != torch.bool:
            scores = scores.add_(mask)
        scores = scores.masked_fill_(~allowed(mask), -torch.inf)
    if is_causal:
        q, k = scores.shape[-2:]
        scores = scores.masked_fill_(~causal_mask(q, k, device=scores.device), -torch.inf)
    if mask is None:  # causal rows always see their own key, or key 0
        return scores.softmax(dim=-1)
    return scores.softmax(dim=-1).nan_to_num_(nan=0.0)
