"""Every kind of model, made once: nobody changes them."""

import pytest
import torch

from core.models.clip import ClipModel
from tests.core.models.clip import tiny
from tests.core.models.clip.folders import HUB_IS_OFF


@pytest.fixture(scope="session")
def models(tmp_path_factory) -> dict[str, ClipModel]:
    return {
        "ViT": tiny.vit(),
        "ResNet": tiny.resnet(),
        "SigLIP": tiny.siglip(),
        "CustomText": tiny.custom(tmp_path_factory.mktemp("bert")),
        "convolutions": tiny.conv(),
    }


@pytest.fixture
def offline(monkeypatch):
    monkeypatch.setattr(HUB_IS_OFF, True)


@pytest.fixture
def no_unpickling(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("something was unpickled")

    monkeypatch.setattr(torch, "load", refuse)
