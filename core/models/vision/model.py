"""Vision transformers of timm: one picture in, one position a patch, labels and geometry kept.

Source: Dosovitskiy et al. 2021, https://arxiv.org/abs/2010.11929, and timm's models of that kind.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import timm
import torch
from jaxtyping import Float
from timm.models import SwinTransformer
from torch import Tensor, nn

from core.attention.common.grid import Grid
from core.errors import InputError
from core.models.files import weights
from core.models.geometry import Geometry
from core.models.model import Model
from core.models.run import Output, Prepared, Run
from core.models.vision import focus_vit
from core.models.vision.images import Picture
from core.models.vision.preprocess import preprocessing
from core.models.vision.swin import stage_groups, stages, stitched, use_fused_attention
from core.models.vision.timm_facts import attentions, label_names, require_grids
from core.models.vision.timm_weights import timm_module
from core.types import Group, Position, Prediction

FOCUS_LONG_SIDE = 518  # 37 patches: what the positions were trained for
LABELS = 5


class VisionModel(Model):
    """A timm vision transformer whose patches form one grid, or one a stage in a Swin."""

    kind = "vision"

    def __init__(
        self,
        module: nn.Module,
        name: str,
        *,
        title: str | None = None,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
        long_side: int | None = None,
    ) -> None:
        """Wrap a module that is already built; a Swin's attention is switched to torch's function.

        Args:
            module: one whose class is in `timm_facts.ONE_GRID`, or a SwinTransformer.
            name: how the model is called by.
            title: how a person reads it; the name, if None.
            device: where it shall run.
            dtype: what it shall compute in.
            long_side: pixels of the longer side of a picture shown whole, for a module that takes
                any size (`dynamic_img_size`); None there is the size it was made for. Other
                modules crop, as they were trained to.

        Raises:
            InputError: if its positions are no grid of patches, or it takes no other size.
        """
        require_grids(module, name)
        self.stages = stages(module, name) if isinstance(module, SwinTransformer) else ()
        if self.stages:
            use_fused_attention(module)
        # A Swin that takes any size pads it to whole windows, and looks at the padding.
        if self.stages or not getattr(module, "dynamic_img_size", False):
            if long_side is not None:
                raise InputError(
                    f"'{name}' takes pictures of one size only; a longer side of {long_side} "
                    "pixels was asked for."
                )
        elif long_side is None:
            long_side = max(module.patch_embed.img_size)
        self.name, self.title = name, title or name
        self.module = module.to(device, dtype).eval().requires_grad_(False)
        self.device, self.dtype = torch.device(device), dtype
        self.preprocess = preprocessing(module, long_side)
        self.labels = label_names(module)

    def prepare(self, inputs: Picture | list[Picture]) -> Prepared:
        """The pixels of one picture or several, and the patches they fall into.

        Several must come out in one size; they share one geometry or, where the files differ in
        size, have none.

        Raises:
            InputError: if there is no picture, or they come out in different sizes.
        """
        pictures = [inputs] if isinstance(inputs, Picture) else inputs
        if not pictures:
            raise InputError("At least one picture was wanted; none came.")
        tensors, geometries, notes = zip(*map(self.preprocess, pictures), strict=True)
        grids = {geometry.grid for geometry in geometries}
        if len(grids) > 1:
            sizes = " and ".join(f"{rows} x {columns}" for rows, columns in sorted(grids))
            raise InputError(
                f"Pictures of one shape were wanted for one run; grids of {sizes} patches came."
            )
        said = [note for picture, new in zip(pictures, notes, strict=True) for note in
                (*picture.notes, *new)]  # fmt: skip
        return Prepared(
            tensors={"pixels": torch.stack(tensors).to(self.device, self.dtype)},
            groups=self._groups(geometries[0], len(pictures)),
            notes=tuple(said),
            geometry=geometries[0] if len(set(geometries)) == 1 else None,
            grid=None if self.stages else Grid(*geometries[0].grid, len(geometries[0].prefix)),
        )

    def run(
        self,
        inputs: Picture | list[Picture] | Prepared,
        mechanism: str | None = None,
        *,
        on_call: Callable[[float], None] | None = None,
    ) -> Run:
        """One forward pass with every attention call recorded and verified; see `Model.run`."""
        run = super().run(inputs, mechanism, on_call=on_call)
        return replace(run, trace=stitched(run.trace, self.stages)) if self.stages else run

    def forward(self, prepared: Prepared) -> Output:
        """Features of every position, one vector a picture, and labels where the model has them.

        The positions of a Swin are those of its last stage.
        """
        features = self.module.forward_features(prepared.tensors["pixels"])
        hidden = features.flatten(1, -2)  # a Swin's are rows and columns
        embedding = self._pooled(features, hidden)
        return Output(hidden, embedding, self._predictions(features, embedding))

    def _groups(self, geometry: Geometry, batch: int) -> tuple[Group, ...]:
        if self.stages:
            return stage_groups(self.stages, geometry, batch)
        positions = (geometry.positions(),) * batch
        starts = (0,) * batch
        layers = attentions(self.module.blocks)
        group = Group("self-attention", tuple(range(layers)), positions, positions, starts, starts)
        pool = getattr(self.module, "attn_pool", None)
        if pool is None:
            return (group,)
        # SigLIP's head: learned queries, which are no positions, gather the patches by attention.
        keys = geometry.positions()
        keys = keys if self.module.pool_include_prefix else keys[len(geometry.prefix) :]
        latents = range(getattr(pool, "latent_len", 0))
        queries = tuple(Position(f"pool {index}", special=True) for index in latents) or keys
        pooling = Group("pooling", (layers,), (queries,) * batch, (keys,) * batch, starts, starts)
        return group, pooling

    def _pooled(
        self, features: Float[Tensor, "batch *place dim"], hidden: Float[Tensor, "batch n dim"]
    ) -> Float[Tensor, "batch dim"]:
        """The model's own summary: CLS, the mean of the patches, or its attention pool."""
        pooled = self.module.forward_head(features, pre_logits=True)
        if pooled.ndim == 2:
            return pooled
        return hidden[:, 0] if self.preprocess.prefix else hidden.mean(dim=1)

    def _predictions(
        self,
        features: Float[Tensor, "batch *place dim"],
        embedding: Float[Tensor, "batch dim"],
    ) -> tuple[tuple[Prediction, ...], ...]:
        if not self.labels:
            return ()
        # A distilled head reads two tokens and a Swin's pools by itself; any other reads the
        # summary that is there already (pooling twice would record its attention twice).
        whole = hasattr(self.module, "head_dist") or self.stages
        logits = self.module.forward_head(features) if whole else self.module.head(embedding)
        best = logits.float().softmax(dim=-1).topk(min(LABELS, len(self.labels)))
        return tuple(
            tuple(
                Prediction(self.labels[index], probability)
                for probability, index in zip(row.tolist(), indices.tolist(), strict=True)
            )
            for row, indices in zip(best.values, best.indices, strict=True)
        )


def load_focus_vit(
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    on_progress: weights.Progress | None = None,
    *,
    long_side: int = FOCUS_LONG_SIDE,
    cache: Path | None = None,
) -> VisionModel:
    """DINOv2's ViT-S/14 tuned for saliency, the vision transformer that needs no hub.

    Raises:
        InputError: if its weights cannot be fetched.
    """
    state = focus_vit.focus_vit_weights(on_progress, cache)
    module = timm.create_model(focus_vit.ARCHITECTURE, num_classes=0, dynamic_img_size=True)
    module.load_state_dict(state, strict=True)
    title = "focus-vit: DINOv2's ViT-S/14, tuned for saliency"
    return VisionModel(
        module, "focus-vit", title=title, device=device, dtype=dtype, long_side=long_side
    )


def load_timm(
    name: str | Path,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
    *,
    long_side: int | None = None,
) -> VisionModel:
    """A vision transformer by timm's name for it, a hub repository or a local folder.

    Args:
        name: such as 'vit_base_patch16_224.augreg2_in21k_ft_in1k', 'owner/name' or a folder.
        device: where it shall run.
        dtype: what it shall compute in.
        long_side: show the whole picture, this long, instead of cropping as the model was trained.

    Raises:
        InputError: if it is unknown, neither a plain vision transformer nor a Swin, or its weights
            are not to be had as safetensors.
    """
    module, title = timm_module(str(name), any_size=long_side is not None)
    return VisionModel(module, title, device=device, dtype=dtype, long_side=long_side)
