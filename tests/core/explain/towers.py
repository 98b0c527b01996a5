"""Tiny towers with random weights, one for each way in which an embedding is read."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from core.models.clip.facts import Reader
from core.models.run import Prepared
from core.types import Group, Position

WIDTH, JOINT = 12, 5
GRID = (2, 3)


class Attention(nn.Module):
    """Self-attention that ends in torch's function; fewer key heads than heads if asked."""

    def __init__(self, heads: int, kv_heads: int):
        super().__init__()
        self.dim, self.heads, self.kv_heads = WIDTH // heads, heads, kv_heads
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key_value = nn.Linear(WIDTH, 2 * kv_heads * self.dim)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, looking: Tensor, looked_at: Tensor, mask: Tensor | None, is_causal: bool):
        q = self.query(looking).unflatten(-1, (self.heads, self.dim)).transpose(1, 2)
        k, v = (
            part.unflatten(-1, (self.kv_heads, self.dim)).transpose(1, 2)
            for part in self.key_value(looked_at).chunk(2, dim=-1)
        )
        mixed = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=is_causal, enable_gqa=self.heads != self.kv_heads
        )
        return self.out(mixed.transpose(1, 2).flatten(2))


class Trunk(nn.Module):
    """Three layers and, where asked, an attention pool with two queries."""

    def __init__(self, heads: int, kv_heads: int, pooled: bool):
        super().__init__()
        self.layers = nn.ModuleList(Attention(heads, kv_heads) for _ in range(3))
        self.pool = Attention(2, 2) if pooled else None
        self.pool_query = nn.Parameter(torch.randn(1, 2, WIDTH))
        self.project = nn.Linear(WIDTH, JOINT, bias=False)


@dataclass
class TinyTower:
    """A tower as `core.explain` wants it; its inputs are the vectors of its positions."""

    kind: str = "token"
    index: int = 0
    prefix: int = 1
    heads: int = 3
    kv_heads: int = 3
    is_causal: bool = False
    name: str = "tiny"
    lengths: tuple[int, ...] = ()  # of padded texts
    module: Trunk = field(init=False)

    def __post_init__(self):
        torch.manual_seed(0)
        self.module = Trunk(self.heads, self.kv_heads, self.kind == "query").requires_grad_(False)

    def prepared(self, batch: int = 2, grid: tuple[int, int] = GRID) -> Prepared:
        rows, columns = grid
        patches = tuple(
            Position(f"patch {row},{column}", patch=(row, column))
            for row in range(rows)
            for column in range(columns)
        )
        prefix = tuple(Position(f"prefix {index}", special=True) for index in range(self.prefix))
        own = tuple((prefix + patches) for _ in range(batch))
        rng = torch.Generator().manual_seed(1)
        tensors = {"x": torch.randn(batch, len(own[0]), WIDTH, generator=rng)}
        if self.lengths:
            words = tuple(Position(f"word {index}") for index in range(len(own[0])))
            own = tuple(words[:length] for length in self.lengths)
            sizes = torch.tensor(self.lengths)
            tensors["mask"] = (torch.arange(len(words)) < sizes[:, None])[:, None, None]
        groups = [Group("self-attention", (0, 1, 2), own, own)]
        if self.kind == "query":
            queries = (Position("pool query"), Position("pool query"))
            keys = tuple(positions[self.prefix :] for positions in own)
            groups.append(Group("attention pool", (3,), (queries,) * batch, keys))
        return Prepared(tensors, tuple(groups))

    def reader(self, prepared: Prepared, item: int = 0) -> Reader:
        return Reader(self.kind, self.lengths[item] - 1 if self.lengths else self.index)

    def embed(self, prepared: Prepared) -> Tensor:
        x, mask = prepared.tensors["x"], prepared.tensors.get("mask")
        for layer in self.module.layers:
            x = x + layer(
                F.layer_norm(x, (WIDTH,)), F.layer_norm(x, (WIDTH,)), mask, self.is_causal
            )
            x = x + torch.tanh(x)
        if self.kind == "query":
            queries = self.module.pool_query.expand(len(x), -1, -1)
            return self.module.project(
                self.module.pool(queries, x[:, self.prefix :], None, False)[:, self.index]
            )
        if self.kind == "mean":
            return self.module.project(x[:, self.prefix :].mean(dim=1))
        read = self.index if mask is None else mask[:, 0, 0].sum(dim=-1) - 1
        return self.module.project(x[torch.arange(len(x)), read])
