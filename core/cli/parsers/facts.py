"""Names and defaults that help texts tell, written down again so that help need not wait for torch.

`tests/core/cli/test_parsers.py` compares each with what it stands for.
"""

MECHANISMS = (
    "standard", "flash", "flex", "cudnn", "flash_attn", "chunked", "window", "longformer",
    "block_sparse", "swin", "swin_shifted", "topk", "linear", "favor",
)  # fmt: skip
LABEL_LISTS = ("ImageNet-1k", "CIFAR-10", "COCO things")
TEMPLATES = ("none", "a photo of a {}", "the 7 best", "the 80")
PICTURES_AT_A_TIME = 4
TRAINING = {"seed": 0, "epochs": 20}
SWEEP = {"batch": 1, "heads": 8, "dim": 64, "rounds": 7, "seed": 0, "most_seconds": 600}
STUDY_ROUNDS = 5
OFFLINE_MODEL = {"text": "minilm", "vision": "focus-vit"}  # read by it where no --model is named
