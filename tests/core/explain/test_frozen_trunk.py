"""A frozen convolutional trunk that keeps no graph, and layers of our own over its grid."""

import pytest
import torch
from torch import nn

from core.explain.relevance import relevances
from core.layers import AttentionPooling, EncoderBlock
from core.models.clip.facts import Reader
from core.models.run import Prepared
from core.types import Group, Position
from tests.core.explain.dense import linear_weights, published, same

DIRECTION = torch.linspace(-1, 2, 20)
GRID = (3, 4)


class TrunkTower:
    name = "trunk"

    def __init__(self, mechanism: str | None = None, pooled: bool = False):
        torch.manual_seed(0)
        self.trunk = nn.Conv2d(3, 20, kernel_size=5, stride=5)
        self.blocks = nn.ModuleList(EncoderBlock(20, 5, mechanism=mechanism) for _ in range(2))
        self.pool = AttentionPooling(20, 4, mechanism=mechanism) if pooled else None
        self.module = nn.ModuleList([self.trunk, self.blocks, *([self.pool] if pooled else [])])
        for parameter in self.module.requires_grad_(False).parameters():
            nn.init.normal_(parameter, std=0.5)

    def prepared(self) -> Prepared:
        positions = tuple(
            Position(f"patch {row},{column}", patch=(row, column))
            for row in range(GRID[0])
            for column in range(GRID[1])
        )
        groups = [Group("self-attention", (0, 1), (positions,), (positions,))]
        if self.pool is not None:
            query = (Position("pool query", special=True),)
            groups.append(Group("attention pool", (2,), (query,), (positions,)))
        rng = torch.Generator().manual_seed(1)
        return Prepared({"pixels": torch.randn(1, 3, 15, 20, generator=rng)}, tuple(groups))

    def reader(self, prepared: Prepared, item: int = 0) -> Reader:
        return Reader("mean" if self.pool is None else "query")

    def embed(self, prepared: Prepared) -> torch.Tensor:
        with torch.no_grad():
            x = self.trunk(prepared.tensors["pixels"]).flatten(2).mT
        for block in self.blocks:
            x = block(x)
        return x.mean(dim=1) if self.pool is None else self.pool(x)


@pytest.mark.parametrize("pooled", [False, True])
@pytest.mark.parametrize(
    ("own", "given", "weights"),
    [(None, None, None), (None, "linear", linear_weights), ("linear", None, linear_weights)],
)
def test_equals_the_published_algorithm(own, given, weights, pooled, monkeypatch):
    plain = TrunkTower(pooled=pooled)
    expected = published(plain, plain.prepared(), DIRECTION, monkeypatch, weights=weights)
    tower = TrunkTower(own, pooled)
    same(relevances(tower, tower.prepared(), DIRECTION[None], given)[0], expected)
