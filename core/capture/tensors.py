"""Layout: the four axes in which a call of attention is recorded, and what of it is recorded."""

import torch
from torch import Tensor

# A view of less than a quarter of its storage (a static cache, say) is copied, or holding it would
# hold the rest alive. A packed qkv projection stays a view: copying costs time, holding v a third.
COPY_BELOW = 0.25


def one_batch(*tensors: Tensor) -> tuple[Tensor, ...]:
    """Query, key and value with one batch, as torch broadcasts them; nothing is copied."""
    batch = torch.broadcast_shapes(*(tensor.shape[:-3] for tensor in tensors))
    return tuple(tensor.expand(*batch, *tensor.shape[-3:]) for tensor in tensors)


def four_axes(tensor: Tensor) -> Tensor:
    """The same tensor with 4 axes: missing ones are 1, leading ones are folded into the batch."""
    if tensor.ndim > 4:
        return tensor.flatten(0, tensor.ndim - 4)
    return tensor[(None,) * (4 - tensor.ndim)]


def mask_axes(mask: Tensor, query: Tensor) -> Tensor:
    """A mask with the four axes of the recorded query; windows of windows are folded alike."""
    if query.ndim > 4:
        mask = mask.expand(*query.shape[:-2], *mask.shape[-2:])
    return four_axes(mask)


def detached(tensor: Tensor) -> Tensor:
    """The tensor without its graph: a view, or a copy where a view would hold much else alive.

    A view follows its tensor: what the model writes into it afterwards is in the record too.
    """
    tensor = tensor.detach()
    # An expanded axis has no stride: its bytes are there once.
    once = tensor[tuple(slice(None) if step else slice(1) for step in tensor.stride())]
    if once.nbytes < COPY_BELOW * tensor.untyped_storage().nbytes():
        return once.clone().expand_as(tensor)
    return tensor
