"""Folders with a CLIP model, as open_clip lays them out."""

import json
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import nn

from tests.core.models.clip.tiny import TEXT, VIT, WIDTH

CONFIG = {"embed_dim": WIDTH, "vision_cfg": VIT, "text_cfg": TEXT}
HUB_IS_OFF = "huggingface_hub.constants.HF_HUB_OFFLINE"


def save(folder: Path, module: nn.Module, config: dict = CONFIG, **preprocess: Any) -> str:
    described = {"model_cfg": config, "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(json.dumps(described))
    weights = {name: weight.contiguous() for name, weight in module.state_dict().items()}
    save_file(weights, folder / "open_clip_model.safetensors")
    return str(folder)
