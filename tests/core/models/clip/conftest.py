"""Every kind of model, made once: nobody changes them."""

import pytest

from core.models.clip import ClipModel
from tests.core.models.clip import tiny


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> dict[str, ClipModel]:
    return {
        "ViT": tiny.vit(),
        "ResNet": tiny.resnet(),
        "SigLIP": tiny.siglip(),
        "CustomText": tiny.custom(tmp_path_factory.mktemp("bert")),
        "convolutions": tiny.conv(),
    }
