"""Masks: which key may a query attend to?

Boolean masks are True where a query may attend (torch's convention); float masks are added to the
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
    """True where a query may attend: itself and what came before.

    `is_causal=True` of every mechanism means the top-left form (query i attends to keys 0..i), as
    in torch. Decoding with a cache needs the bottom-right form: the last query attends to every
    key.
    """
    offset = k - q if bottom_right else 0
    return torch.ones(q, k, dtype=torch.bool, device=device).tril(offset)


def padding_mask(lengths: Int[Tensor, " batch"], k: int) -> Bool[Tensor, "batch 1 1 k"]:
    """True at the first `lengths[i]` keys of sequence i: the keys that are not padding."""
    return (torch.arange(k, device=lengths.device) < lengths[:, None])[:, None, None, :]


def allowed(mask: Mask) -> Bool[Tensor, "..."]:
    """True where the mask lets a query attend to a key, whatever else it adds to the score."""
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
            f"a boolean mask (True: may attend) or a float mask was wanted; {mask.dtype} came"
        )
    every = slice(None)
    index = {1: (None, None, None), 2: (None, None), 3: (every, None), 4: ()}.get(mask.ndim)
    spread = mask[index or ()]
    fits = all(have in (1, want) for have, want in zip(spread.shape, shape, strict=False))
    if index is None or not fits:
        raise ValueError(
            "a mask of shape (k,), (q, k), (batch, q, k) or (batch, head, q, k) was wanted, with "
            f"(batch, head, q, k) = {shape}; one of shape {tuple(mask.shape)} came. For keys that "
            "differ from sequence to sequence, give padding_mask(lengths, k)"
        )
    return spread
