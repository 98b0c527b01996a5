"""Block-sparse attention: blocks near, at random, and first ones, between which and all is no gap.

Source: Zaheer et al. 2020 (BigBird), section 2, https://arxiv.org/abs/2007.14062

Positions are taken in blocks. A block of queries attends to its own block, to one on each side, to
some drawn at random from the others, and to the first ones, whose queries attend to everything. The
draw depends on the seed, on the block and on how many blocks of keys there are, and on nothing
else: it is the same in every call, head and row. Causality then hides what is ahead, random blocks
included. Block i of the queries stands beside block i of the keys, in cross attention too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from core.attention.common.mechanism import Mechanism
from core.attention.common.pattern import sparse
from core.attention.common.pattern_pieces import Piece, joined
from core.attention.common.separable import blocks
from core.attention.common.visibility import Pairs, Positions
from core.errors import InputError

SIZE = 64
SEED = 0
SEEDS_APART = 1_000_003  # the generator reads 32 bits: blocks of two seeds meet late


@dataclass(frozen=True)
class BlockSparse:
    """Which block of queries attends to which blocks of keys."""

    size: int  # positions a block
    random: int  # blocks drawn for each block of queries
    globals: int  # first blocks that attend to all, and all to them
    seed: int

    def key_blocks(self, block: int, count: int) -> list[int]:
        """The blocks of keys, of `count` in all, that a block of queries attends to."""
        if block < self.globals:
            return list(range(count))
        near = {*range(min(self.globals, count)), *range(max(block - 1, 0), min(block + 2, count))}
        draw = torch.Generator().manual_seed(self.seed * SEEDS_APART + block)
        drawn = torch.randperm(count, generator=draw).tolist()
        others = [each for each in drawn if each not in near]
        return sorted({*near, *others[: self.random]})

    def pieces(self, q: int, k: int, is_causal: bool) -> Iterator[Piece]:
        """A block of queries, and the keys of the blocks that it attends to."""
        count = -(-k // self.size)
        for block, queries in enumerate(blocks(q, self.size)):
            last = min(queries.stop, k) if is_causal else k
            starts = (each * self.size for each in self.key_blocks(block, count))
            runs = (slice(start, min(start + self.size, last)) for start in starts)
            keys = joined(runs)
            # All pairs are visible but those that causality cuts among the queries' own keys, the
            # last ones. A block with no keys gets one that it does not attend to.
            own = max(last - queries.start, 0) if is_causal else 0
            yield Piece(queries, keys or (slice(0, 1),), (len(keys) > 0, own))

    def visible(self, queries: Positions, keys: Positions, length: int) -> Pairs:
        """True where the query's block attends to the key's block."""
        count = -(-length // self.size)
        named, place = (queries // self.size).unique(return_inverse=True)
        table = torch.zeros(len(named), count, dtype=torch.bool)
        for row, block in enumerate(named.tolist()):
            table[row, self.key_blocks(block, count)] = True
        return table.to(keys.device)[place, keys // self.size]


def block_sparse(
    size: int = SIZE, random: int = 3, globals: int = 1, seed: int = SEED
) -> Mechanism:
    """Block-sparse attention with other blocks, or other draws.

    Raises:
        InputError: if the size is below 1, or a number of blocks or the seed below 0.
    """
    if size < 1 or min(random, globals, seed) < 0:
        raise InputError(
            "Blocks of at least 1 position, and 0 or more random blocks, global blocks and seed "
            f"were wanted; {size}, {random}, {globals} and {seed} came."
        )
    usual = (size, random, globals, seed) == (SIZE, 3, 1, SEED)
    words = f"{size} x (3 + {random} + {globals})"
    return sparse(
        BlockSparse(size, random, globals, seed),
        name="block_sparse" if usual else f"block_sparse {words}, seed {seed}",
        title=f"Block-sparse {words}",
        source="Zaheer et al. 2020, https://arxiv.org/abs/2007.14062",
        cost=f"time grows as N x {size * (3 + random + globals)}, memory as N; pairs of blocks "
        "that are neither near, first nor drawn are lost",
    )


BLOCK_SPARSE = block_sparse()
