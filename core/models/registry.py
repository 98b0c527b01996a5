"""The list of models, and the wheels that those without a hub are made of: data, no library."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "vision", "clip"]
READS: dict[Kind, str] = {"text": "texts", "vision": "pictures", "clip": "pictures with texts"}


@dataclass(frozen=True)
class Entry:
    """One model on the list; others of transformers, timm and open_clip load by name too."""

    title: str
    kind: Kind
    where: Literal["offline", "hub"]
    about: str
    first_look: tuple[int, int] = (0, 0)  # a layer and head worth seeing first


MODELS: dict[str, Entry] = {
    "minilm": Entry(
        "MiniLM (all-MiniLM-L6-v2)",
        "text",
        "offline",
        "Sentence encoder, 6 layers x 12 heads, 23 M parameters. Reads up to 512 tokens.",
        (3, 1),
    ),
    "smollm2": Entry(
        "SmolLM2 135M Instruct",
        "text",
        "offline",
        "Decoder, 30 layers x 9 heads (3 key-value heads). Reads up to 8,192 tokens.",
        (23, 4),
    ),
    "focus-vit": Entry(
        "focus-vit (ViT-S/14)",
        "vision",
        "offline",
        "DINOv2's ViT-S/14 tuned for saliency, 12 layers x 6 heads, any size. Shows objects, "
        "but its features classify nothing.",
    ),
    "clip-mini": Entry(
        "clip-mini (small offline CLIP)",
        "clip",
        "offline",
        "Small offline CLIP, far from a real one: EfficientNet-Lite0 and MiniLM, brought together.",
    ),
    "bert-base-uncased": Entry(
        "BERT base", "text", "hub", "The encoder that bertviz made famous, 12 layers x 12 heads."
    ),
    "gpt2": Entry("GPT-2", "text", "hub", "The decoder of 2019, 12 layers x 12 heads."),
    "vit_small_patch14_reg4_dinov2.lvd142m": Entry(
        "DINOv2 ViT-S/14 with registers", "vision", "hub", "True DINOv2, 4 registers."
    ),
    "vit_base_patch16_224.augreg2_in21k_ft_in1k": Entry(
        "ViT-B/16 (ImageNet)", "vision", "hub", "A classifier: its first five labels are shown."
    ),
    "ViT-B-32/laion2b_s34b_b79k": Entry(
        "CLIP ViT-B/32 (LAION-2B)",
        "clip",
        "hub",
        "open_clip's, 12 layers x 12 heads, 7 x 7 patches.",
    ),
    "ViT-B-16-SigLIP/webli": Entry(
        "SigLIP ViT-B/16", "clip", "hub", "Scores each label for itself; ends in an attention pool."
    ),
}

# What each model that needs no hub is made of, in `core.models.files.weights`; the rest of
# clip-mini comes with this repository.
SOURCES: dict[str, tuple[str, ...]] = {
    "minilm": ("minilm",),
    "smollm2": ("smollm2",),
    "focus-vit": ("focus-vit",),
    "clip-mini": ("lite0", "minilm"),
}
OFFLINE = tuple(SOURCES)
