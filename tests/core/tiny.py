"""Tiny models of the libraries that people use, built from configs, each with its eager twin.

No weights are fetched: a seed makes them. `eager_maps` gives the library's own maps, the reference.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from operator import attrgetter

import timm
import torch
import transformers as hf
from torch import Tensor, nn

VOCABULARY = 37


@dataclass(frozen=True)
class Twin:
    """A model in its fast form, its input, and the maps that its eager form gives."""

    fast: nn.Module
    inputs: dict[str, Tensor]
    eager_maps: list[Tensor]  # (batch, head, q, k), in the order of the calls


def hf_twin(
    model_class: type, config: hf.PreTrainedConfig, inputs: dict[str, Tensor], *fields: str
) -> Twin:
    """The same weights twice: as loaded usually (sdpa) and eager with output_attentions."""
    torch.manual_seed(0)
    fast, eager = (
        model_class._from_config(deepcopy(config), attn_implementation=kind).eval()
        for kind in ("sdpa", "eager")
    )
    eager.load_state_dict(fast.state_dict())
    with torch.inference_mode():
        output = eager(**inputs, output_attentions=True)
    maps = [layer for name in fields or ("attentions",) for layer in attrgetter(name)(output)]
    return Twin(fast, inputs, maps)


def ids(batch: int, length: int) -> Tensor:
    """Token ids that repeat from run to run, none of them a special one."""
    rng = torch.Generator().manual_seed(1)
    return torch.randint(5, VOCABULARY, (batch, length), generator=rng)


def bert() -> Twin:
    """Two sentences, the second padded: its last two keys may not be seen."""
    config = hf.BertConfig(
        vocab_size=VOCABULARY, hidden_size=20, num_hidden_layers=2, num_attention_heads=5,
        intermediate_size=23, max_position_embeddings=31,
    )  # fmt: skip
    mask = torch.tensor([[1] * 7, [1] * 5 + [0] * 2])
    return hf_twin(hf.BertModel, config, {"input_ids": ids(2, 7), "attention_mask": mask})


def gpt2() -> Twin:
    """A decoder without padding: causal by `is_causal`."""
    config = hf.GPT2Config(
        vocab_size=VOCABULARY, n_embd=20, n_layer=2, n_head=5, n_positions=31,
        bos_token_id=1, eos_token_id=2,
    )  # fmt: skip
    return hf_twin(hf.GPT2Model, config, {"input_ids": ids(2, 7)})


def llama(**inputs: Tensor) -> Twin:
    """Grouped queries: 4 heads, 2 key-value heads."""
    config = hf.LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=29, num_hidden_layers=3,
        num_attention_heads=4, num_key_value_heads=2,
    )  # fmt: skip
    return hf_twin(hf.LlamaModel, config, inputs or {"input_ids": ids(2, 7)})


def mistral() -> Twin:
    """A sliding window of 3: a query sees itself and two keys before it."""
    config = hf.MistralConfig(
        vocab_size=VOCABULARY, hidden_size=24, intermediate_size=29, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, sliding_window=3,
    )  # fmt: skip
    return hf_twin(hf.MistralModel, config, {"input_ids": ids(1, 11)})


def t5() -> Twin:
    """Relative positions come as an additive mask; decoder layers attend twice."""
    config = hf.T5Config(
        vocab_size=VOCABULARY, d_model=20, d_kv=5, d_ff=23, num_layers=2, num_decoder_layers=3,
        num_heads=4,
    )  # fmt: skip
    inputs = {"input_ids": ids(1, 4), "decoder_input_ids": ids(1, 3)}
    twin = hf_twin(
        hf.T5Model, config, inputs,
        "encoder_attentions", "decoder_attentions", "cross_attentions",
    )  # fmt: skip
    encoder, decoder, cross = twin.eager_maps[:2], twin.eager_maps[2:5], twin.eager_maps[5:]
    turns = [layer for pair in zip(decoder, cross, strict=True) for layer in pair]
    return Twin(twin.fast, twin.inputs, encoder + turns)


def vit() -> Twin:
    """An image encoder of transformers."""
    config = hf.ViTConfig(
        hidden_size=20, num_hidden_layers=2, num_attention_heads=5, intermediate_size=23,
        image_size=21, patch_size=7,
    )  # fmt: skip
    return hf_twin(hf.ViTModel, config, {"pixel_values": torch.randn(2, 3, 21, 21)})


def deit() -> Twin:
    """An image encoder with a CLS and a distillation token."""
    config = hf.DeiTConfig(
        hidden_size=20, num_hidden_layers=2, num_attention_heads=5, intermediate_size=23,
        image_size=21, patch_size=7,
    )  # fmt: skip
    return hf_twin(hf.DeiTModel, config, {"pixel_values": torch.randn(2, 3, 21, 21)})


def clip() -> Twin:
    """Two towers: the text tower is causal, and runs first or last as the library likes."""
    text = {"vocab_size": VOCABULARY, "hidden_size": 20, "intermediate_size": 23,
            "num_hidden_layers": 2, "num_attention_heads": 5, "max_position_embeddings": 31,
            "bos_token_id": 1, "eos_token_id": 2}  # fmt: skip
    vision = {"hidden_size": 20, "intermediate_size": 23, "num_hidden_layers": 3,
              "num_attention_heads": 4, "image_size": 21, "patch_size": 7}  # fmt: skip
    config = hf.CLIPConfig(text_config=text, vision_config=vision, projection_dim=11)
    inputs = {"input_ids": ids(2, 7), "pixel_values": torch.randn(2, 3, 21, 21)}
    return hf_twin(
        hf.CLIPModel, config, inputs,
        "vision_model_output.attentions", "text_model_output.attentions",
    )  # fmt: skip


def hooked_twin(build: Callable[[], nn.Module], inputs: dict[str, Tensor]) -> Twin:
    """A timm model with and without fused attention; eager maps are what its dropout receives."""
    torch.manual_seed(0)
    fast = build().eval()
    eager = build().eval()
    eager.load_state_dict(fast.state_dict())
    maps: list[Tensor] = []
    for module in fast.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = True  # Swin's is off by default
    for module in eager.modules():
        if hasattr(module, "fused_attn"):
            module.fused_attn = False
            module.attn_drop.register_forward_hook(lambda _, given, __: maps.append(given[0]))
    with torch.inference_mode():
        eager(*inputs.values())
    return Twin(fast, inputs, maps)


def timm_vit() -> Twin:
    """timm's own ViT, whose q, k and v are views of one packed projection."""
    build = lambda: timm.models.VisionTransformer(  # noqa: E731
        img_size=21, patch_size=7, embed_dim=20, depth=2, num_heads=5, num_classes=3
    )
    return hooked_twin(build, {"x": torch.randn(2, 3, 21, 21)})


def swin() -> Twin:
    """Windows come as a batch, relative positions and shifts as an additive mask."""
    build = lambda: timm.models.SwinTransformer(  # noqa: E731
        img_size=28, patch_size=2, embed_dim=10, depths=(2, 2), num_heads=(2, 5), window_size=7,
        num_classes=3,
    )  # fmt: skip
    return hooked_twin(build, {"x": torch.randn(1, 3, 28, 28)})


def torch_encoder() -> Twin:
    """nn.TransformerEncoder, whose C++ fast path would hide the calls."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(20, 5, 23, batch_first=True)
    fast = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    x = torch.randn(2, 7, 20)
    maps = []
    with torch.inference_mode():
        seen = x
        for block in fast.layers:
            _, weights = block.self_attn(
                seen, seen, seen, need_weights=True, average_attn_weights=False
            )
            maps.append(weights)
            seen = block(seen)
    return Twin(fast, {"src": x}, maps)


TWINS: dict[str, Callable[[], Twin]] = {
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "mistral": mistral,
    "t5": t5,
    "vit": vit,
    "deit": deit,
    "clip": clip,
    "timm_vit": timm_vit,
    "swin": swin,
    "torch_encoder": torch_encoder,
}
