"""Encoder block and attention pooling against timm's, torch's and open_clip's own."""

import pytest
import torch
from open_clip.modified_resnet import AttentionPool2d
from timm.layers import AttentionPoolLatent
from timm.models.vision_transformer import Block
from torch import nn

from core.attention.common.masks import padding_mask
from core.layers import AttentionPooling, EncoderBlock, MeanQueryPooling

DIM, HEADS = 12, 3


@pytest.fixture(autouse=True)
def _seed():
    torch.manual_seed(0)


def shaken(module):
    """The module in eval mode, every norm and bias different from its first value."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module.eval()


def renamed(state, names):
    """A state dict under our names; packed projections are cut into two or three."""
    ours = {}
    for theirs, tensor in state.items():
        stem, _, kind = theirs.rpartition(".")
        stems = names[stem] if isinstance(names[stem], tuple) else (names[stem],)
        parts = tensor.chunk(len(stems))
        ours |= {f"{name}.{kind}": part for name, part in zip(stems, parts, strict=True)}
    return ours


QKV = ("attention.query", "attention.key", "attention.value")
BLOCK_NAMES = {
    "norm1": "attention_norm", "attn.qkv": QKV, "attn.proj": "attention.output",
    "norm2": "mlp_norm", "mlp.fc1": "mlp.0", "mlp.fc2": "mlp.3",
}  # fmt: skip


def test_the_block_equals_timm():
    theirs = shaken(Block(DIM, HEADS, qkv_bias=True))
    ours = EncoderBlock(DIM, HEADS, eps=theirs.norm1.eps).eval()
    ours.load_state_dict(renamed(theirs.state_dict(), BLOCK_NAMES))
    x = torch.randn(2, 7, DIM)
    torch.testing.assert_close(ours(x), theirs(x), atol=1e-5, rtol=0)


@pytest.mark.parametrize("is_causal", [False, True])
def test_the_block_equals_torch_padding_and_causality_included(is_causal):
    how = {"norm_first": True, "activation": "gelu", "batch_first": True}
    theirs = shaken(nn.TransformerEncoderLayer(DIM, HEADS, 3 * DIM, **how))
    state = {
        name.replace("in_proj_", "in_proj."): tensor for name, tensor in theirs.state_dict().items()
    }
    ours = EncoderBlock(DIM, HEADS, mlp_ratio=3.0).eval()
    names = {
        "norm1": "attention_norm", "self_attn.in_proj": QKV, "norm2": "mlp_norm",
        "self_attn.out_proj": "attention.output", "linear1": "mlp.0", "linear2": "mlp.3",
    }  # fmt: skip
    ours.load_state_dict(renamed(state, names))
    x = torch.randn(2, 7, DIM)
    mask = padding_mask(torch.tensor([7, 4]), 7)
    ahead = torch.ones(7, 7, dtype=torch.bool).triu(1) if is_causal else None
    expected = theirs(x, src_mask=ahead, src_key_padding_mask=~mask[:, 0, 0])
    result = ours(x, mask=mask, is_causal=is_causal)
    torch.testing.assert_close(result, expected, atol=1e-5, rtol=0)


def test_dropout_acts_in_training_only():
    block = EncoderBlock(DIM, HEADS, dropout=0.5, attention_dropout=0.5)
    x = torch.randn(2, 7, DIM)
    assert not torch.allclose(block(x), block(x))
    torch.testing.assert_close(block.eval()(x), block(x), atol=0, rtol=0)


@pytest.mark.parametrize("mechanism", ["linear", "favor"])
def test_dropout_of_branches_goes_with_every_mechanism(mechanism):
    block = EncoderBlock(DIM, HEADS, dropout=0.5, mechanism=mechanism)
    assert block(torch.randn(2, 7, DIM)).isfinite().all()


def test_dropout_of_both_branches_leaves_the_residual():
    block = EncoderBlock(DIM, HEADS, dropout=1.0)
    x = torch.randn(2, 7, DIM)
    torch.testing.assert_close(block(x), x, atol=0, rtol=0)


@pytest.mark.parametrize("mlp_ratio", [None, 2.0])
def test_pooling_equals_timm(mlp_ratio):
    theirs = shaken(AttentionPoolLatent(DIM, num_heads=HEADS, mlp_ratio=2, norm_layer=nn.LayerNorm))
    if mlp_ratio is None:
        theirs.mlp = theirs.norm = None
    ours = AttentionPooling(DIM, HEADS, mlp_ratio=mlp_ratio).eval()
    names = {
        "q": QKV[0], "kv": QKV[1:], "proj": "attention.output",
        "norm": "mlp.0", "mlp.fc1": "mlp.1.0", "mlp.fc2": "mlp.1.3",
    }  # fmt: skip
    state = theirs.state_dict()
    latent = state.pop("latent")[0, 0]
    ours.load_state_dict(renamed(state, names) | {"latent": latent})
    tokens = torch.randn(2, 7, DIM)
    torch.testing.assert_close(ours(tokens), theirs(tokens), atol=1e-5, rtol=0)


def test_pooling_looks_past_padding():
    pooling = AttentionPooling(DIM, HEADS, mlp_ratio=2.0).eval()
    tokens = torch.randn(2, 7, DIM)
    pooled = pooling(tokens, mask=padding_mask(torch.tensor([7, 4]), 7))
    torch.testing.assert_close(pooled[1:], pooling(tokens[1:, :4]))


def clip_pool(spatial, out_dim):
    """open_clip's pool and ours with the same weights."""
    theirs = shaken(AttentionPool2d(spatial, DIM, HEADS, out_dim))
    ours = MeanQueryPooling(DIM, HEADS, (spatial, spatial), out_dim=out_dim).eval()
    names = {
        "q_proj": QKV[0], "k_proj": QKV[1], "v_proj": QKV[2], "c_proj": "attention.output",
        "positions": "positions",
    }  # fmt: skip
    state = theirs.state_dict()
    state["positions.table"] = state.pop("positional_embedding")
    ours.load_state_dict(renamed(state, names))
    return theirs, ours


def test_mean_query_pooling_equals_open_clip():
    theirs, ours = clip_pool(3, 5)
    features = torch.randn(2, DIM, 3, 3)
    torch.testing.assert_close(ours(features), theirs(features), atol=1e-5, rtol=0)


def test_mean_query_pooling_takes_maps_of_any_size():
    _, ours = clip_pool(3, 5)
    assert ours(torch.randn(2, DIM, 4, 7)).shape == (2, 5)
