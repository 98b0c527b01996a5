"""Shapes: the attention of models that people know, as sizes of one layer's call.

Sources: the papers, and the `config.json` that each model is published with.
"""

from typing import NamedTuple


class Shape(NamedTuple):
    """One layer's call."""

    title: str
    heads: int
    kv_heads: int
    dim: int  # of a head
    causal: bool
    length: int  # positions that the model is mostly given
    source: str


SHAPES = {
    "bert-base": Shape(
        "BERT-base", 12, 12, 64, False, 512,
        "Devlin et al. 2018, https://arxiv.org/abs/1810.04805; bert-base-uncased",
    ),
    "llama-3-8b": Shape(
        "Llama-3 8B", 32, 8, 128, True, 8_192,
        "Grattafiori et al. 2024, table 3, https://arxiv.org/abs/2407.21783",
    ),
    "mistral-7b": Shape(
        "Mistral 7B", 32, 8, 128, True, 4_096,
        "Jiang et al. 2023, table 1, https://arxiv.org/abs/2310.06825; its window is left out",
    ),
    "qwen2.5-7b": Shape(
        "Qwen2.5 7B", 28, 4, 128, True, 4_096,
        "Qwen 2024, table 1, https://arxiv.org/abs/2412.15115",
    ),
    "vit-l": Shape(
        "ViT-L/16 at 384", 16, 16, 64, False, 577,
        "Dosovitskiy et al. 2020, table 1, https://arxiv.org/abs/2010.11929",
    ),
    "siglip": Shape(
        "SigLIP so400m/14 at 384", 16, 16, 72, False, 729,
        "Zhai et al. 2023, https://arxiv.org/abs/2303.15343; siglip-so400m-patch14-384",
    ),
}  # fmt: skip
