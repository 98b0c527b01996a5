"""The image towers of open_clip: hidden states, the embedding made of them, and each patch's own.

Source: open_clip's VisionTransformer, ModifiedResNet and TimmModel,
https://github.com/mlfoundations/open_clip; patches on their own after Zhou et al. 2022 (MaskCLIP),
https://arxiv.org/abs/2112.01071
"""

from typing import NamedTuple

from jaxtyping import Float
from open_clip.modified_resnet import ModifiedResNet
from open_clip.timm_model import TimmModel
from open_clip.transformer import VisionTransformer
from torch import Tensor, nn

from core.errors import InputError
from core.models.clip.facts import Reader
from core.models.vision.timm_facts import prefix_names

KNOWN = (VisionTransformer, ModifiedResNet, TimmModel)


class Layout(NamedTuple):
    """What the positions of an image tower are."""

    grid: tuple[int, int]  # rows and columns of patches
    prefix: tuple[str, ...]  # positions before the patches


def require_known(visual: nn.Module, name: str) -> None:
    """Return if the image tower is of a class that is known here.

    Raises:
        InputError: if it is not.
    """
    if not isinstance(visual, KNOWN):
        kinds = ", ".join(kind.__name__ for kind in KNOWN)
        raise InputError(
            f"An image tower of open_clip ({kinds}) was wanted; that of '{name}' is a "
            f"{type(visual).__name__}."
        )


def states(visual: nn.Module, pixels: Float[Tensor, "batch 3 height width"]) -> Tensor:
    """The last hidden states as the tower keeps them: positions in a row, or a map of features."""
    if isinstance(visual, TimmModel):
        return visual.trunk.forward_features(pixels)
    if isinstance(visual, VisionTransformer):
        return visual.transformer(visual._embeds(pixels))
    features = visual.stem(pixels)
    for layer in (visual.layer1, visual.layer2, visual.layer3, visual.layer4):
        features = layer(features)
    return features


def pooled(visual: nn.Module, hidden: Tensor) -> Float[Tensor, "batch dim"]:
    """The embedding, not normalised: the tower's own pooling, norm and projection."""
    if isinstance(visual, TimmModel):
        return visual.head(visual.trunk.forward_head(hidden))
    if isinstance(visual, ModifiedResNet):
        return visual.attnpool(hidden)
    embedding, _ = visual._pool(hidden)
    return embedding if visual.proj is None else embedding @ visual.proj


def sequence(visual: nn.Module, hidden: Tensor) -> Float[Tensor, "batch position dim"]:
    """The hidden states with one position a patch, row by row."""
    if hidden.ndim == 3:
        return hidden
    return hidden.flatten(1, 2) if _channels_last(visual) else hidden.flatten(2).mT


def layout(visual: nn.Module, hidden: Tensor, name: str) -> Layout:
    """What the positions are, read off the hidden states of one picture.

    Raises:
        InputError: if they are not one grid of patches.
    """
    if hidden.ndim == 4:
        rows, columns = hidden.shape[1:3] if _channels_last(visual) else hidden.shape[2:]
        return Layout((rows, columns), ())
    if isinstance(visual, VisionTransformer):
        return Layout(tuple(visual.grid_size), ("CLS",))
    embed = getattr(visual.trunk, "patch_embed", None)
    grid, prefix = getattr(embed, "grid_size", None), prefix_names(visual.trunk)
    if grid is None or hidden.shape[1] != len(prefix) + grid[0] * grid[1]:
        raise InputError(
            f"An image tower whose positions are one grid of patches was wanted; '{name}' has "
            f"{hidden.shape[1]} positions that are not."
        )
    return Layout(tuple(grid), prefix)


def reader(visual: nn.Module, place: Layout, pools: bool) -> Reader:
    """How the embedding is made; `pools`: the last attention call is an attention pool."""
    if pools:
        return Reader("query")
    if isinstance(visual, VisionTransformer):
        return Reader("token" if visual.pool_type == "tok" else "mean")
    takes_token = place.prefix and getattr(visual.trunk, "global_pool", "") == "token"
    return Reader("token" if takes_token else "mean")


def patch_embeddings(
    visual: nn.Module, hidden: Tensor, place: Layout
) -> Float[Tensor, "batch row column dim"]:
    """Each final patch through the tower's own norm and projection, not normalised.

    A patch is pooled as if every position were that patch: attention over equal keys gives their
    value, their mean is the patch, and the token that is read is the patch. The attention pool of
    a ResNet adds positions to its keys, so there value and output projection are applied as such.
    """
    patches = sequence(visual, hidden)[:, len(place.prefix) :]
    batch, count, _ = patches.shape
    if isinstance(visual, ModifiedResNet):
        pool = visual.attnpool
        values = pool.v_proj(patches + pool.positional_embedding[1:].to(patches.dtype))
        return pool.c_proj(values).unflatten(1, place.grid)
    alone = patches.flatten(0, 1)
    if hidden.ndim == 4:
        alone = alone[:, None, None] if _channels_last(visual) else alone[:, :, None, None]
    else:
        alone = alone[:, None].expand(-1, 1 + len(place.prefix), -1)
    return pooled(visual, alone).reshape(batch, *place.grid, -1)


def _channels_last(visual: nn.Module) -> bool:
    return getattr(getattr(visual, "trunk", None), "output_fmt", "NCHW") == "NHWC"
