"""The image tower of an open_clip model: pictures in, maps, patches and one embedding out.

Source: Radford et al. 2021, https://arxiv.org/abs/2103.00020
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from open_clip.transform import PreprocessCfg
from torch import Tensor, nn

from core.attention.common.grid import Grid
from core.errors import InputError
from core.models.clip import visual
from core.models.clip.facts import Reader, size_of
from core.models.clip.pixels import Pixels
from core.models.clip.tower import POOL, Tower, attended, groups
from core.models.geometry import Geometry
from core.models.run import Output, Prepared
from core.models.vision.images import Picture
from core.types import Group


class ImageTower(Tower):
    """The half that reads pictures."""

    kind, side = "vision", "image"

    def __init__(
        self,
        module: nn.Module,
        name: str,
        title: str,
        device: torch.device,
        dtype: torch.dtype,
        *,
        preprocess: PreprocessCfg,
    ) -> None:
        """Wrap the visual side of a module; runs it once, on an empty picture.

        Raises:
            InputError: if it is of a kind that is not known here.
        """
        super().__init__(module, name, title, device, dtype)
        visual.require_known(module.visual, name)
        size = size_of(preprocess)
        empty = torch.zeros(1, 3, *size, device=device, dtype=dtype)
        with torch.inference_mode():
            hidden = visual.states(module.visual, empty)
        self.layout = visual.layout(module.visual, hidden, name)
        patch = tuple(side // count for side, count in zip(size, self.layout.grid, strict=True))
        self.preprocess = Pixels(preprocess, patch, *self.layout)
        self._calls = attended(lambda: visual.pooled(module.visual, self._states(empty))) or ()
        found = self._groups(1)
        self.mapped = bool(found)
        pools = bool(found) and found[-1].name == POOL
        self._reader = visual.reader(module.visual, self.layout, pools)

    @property
    def grid(self) -> Grid:
        """How the positions lie in the picture."""
        return Grid(*self.layout.grid, len(self.layout.prefix))

    def pixels(self, pictures: Sequence[Picture]) -> Float[Tensor, "batch 3 height width"]:
        """The pictures as the tower reads them."""
        return torch.stack([self.preprocess(picture) for picture in pictures]).to(
            self.device, self.dtype
        )

    def prepare(self, inputs: Picture | list[Picture]) -> Prepared:
        """The pixels of one picture or several, and the patches they fall into.

        Several share one geometry or, where the files differ in size, have none.

        Raises:
            InputError: if there is no picture.
        """
        pictures = [inputs] if isinstance(inputs, Picture) else inputs
        if not pictures:
            raise InputError("At least one picture was wanted; none came.")
        geometries = {self.preprocess.geometry(picture.size) for picture in pictures}
        said = [
            note
            for picture in pictures
            for note in (*picture.notes, *self.preprocess.notes(picture))
        ]
        return Prepared(
            tensors={"pixels": self.pixels(pictures)},
            groups=self._groups(len(pictures)),
            notes=tuple(said),
            geometry=geometries.pop() if len(geometries) == 1 else None,
            grid=self.grid,
        )

    def forward(self, prepared: Prepared) -> Output:
        """The last hidden states, one position a patch, and the embedding, not normalised."""
        hidden = self._states(prepared.tensors["pixels"])
        return Output(
            visual.sequence(self.module.visual, hidden), visual.pooled(self.module.visual, hidden)
        )

    def embed(self, prepared: Prepared) -> Float[Tensor, "batch dim"]:
        """The embedding of each picture, not normalised; gradients flow through it."""
        return self.encode(prepared.tensors["pixels"])

    def encode(self, pixels: Float[Tensor, "batch 3 height width"]) -> Float[Tensor, "batch dim"]:
        """The embedding of pictures that are pixels already."""
        return visual.pooled(self.module.visual, self._states(pixels))

    def patch_embeddings(self, prepared: Prepared) -> Float[Tensor, "batch row column dim"]:
        """Each final patch on its own in the space of the embeddings, not normalised."""
        hidden = self._states(prepared.tensors["pixels"])
        return visual.patch_embeddings(self.module.visual, hidden, self.layout)

    def reader(self, prepared: Prepared, item: int = 0) -> Reader:
        """How the last hidden states become the embedding; the same for every picture."""
        return self._reader

    def _states(self, pixels: Float[Tensor, "batch 3 height width"]) -> Tensor:
        return visual.states(self.module.visual, pixels)

    def _groups(self, batch: int) -> tuple[Group, ...]:
        size = size_of(self.preprocess.config)
        crop = (0, 0, size[1], size[0])
        whole = Geometry(size, size, crop, self.preprocess.patch, *self.layout)
        return groups(self._calls, whole.positions(), batch)
