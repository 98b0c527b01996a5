"""Features: what is kept equals the whole network, and a stopped run goes on."""

from random import Random

import numpy as np
import pytest
import timm
import torch
from open_clip.transform import image_transform_v2
from PIL import Image

from core.models.clip_mini import PREPROCESS
from core.models.clip_mini.lite0 import ARCHITECTURE
from core.models.clip_mini.training.compose import HALF, SIDE, changed_view, mosaic, plain_view
from core.models.clip_mini.training.features import Views, computed, pixels, plain_views, unfinished
from tests.core.models.clip_mini.tiny import TinyLite0


def picture(colour, size=(30, 20)):
    return Image.new("RGBA", size, colour)


def views(count, made):
    def make(index):
        made.append(index)
        return plain_view(picture((index % 256, 0, 0, 255)))

    return Views("some", count, make, "key")


def silent(what, share):
    """Nobody asked."""


def test_kept_maps_and_their_rest_are_the_whole_network():
    module = timm.create_model(ARCHITECTURE).eval().requires_grad_(False)
    chance = np.random.default_rng(0)
    image = Image.fromarray(chance.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8))
    with torch.inference_mode():
        whole = module.forward_features(pixels([image])).flatten(2).mT
        map_ = module.blocks(module.bn1(module.conv_stem(pixels([image])))).flatten(2).mT
    rest = unfinished(map_.half().numpy(), module).clamp(0, 6)
    torch.testing.assert_close(rest, whole, atol=5e-3, rtol=5e-3)


def test_views_are_prepared_as_clip_mini_prepares_pictures():
    image = plain_view(picture((200, 100, 50, 255)))
    expected = image_transform_v2(PREPROCESS, is_train=False)(image)
    torch.testing.assert_close(pixels([image])[0], expected)


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch):
    monkeypatch.setattr("core.models.clip_mini.training.features.SHARD", 3)
    made = []
    whole = computed(views(7, []), TinyLite0(), tmp_path / "whole", silent)

    def stop(what, share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        computed(views(7, made), TinyLite0(), tmp_path / "parts", stop)
    assert made == [0, 1, 2]
    again = computed(views(7, made), TinyLite0(), tmp_path / "parts", silent)
    assert made == [0, 1, 2, 3, 4, 5, 6]
    np.testing.assert_array_equal(again, whole)


def test_progress_ends_at_one(tmp_path):
    shares = []
    computed(views(5, []), TinyLite0(), tmp_path, lambda what, share: shares.append(share))
    assert shares[-1] == 1.0


def test_other_pictures_are_kept_apart(tmp_path):
    one, other = tmp_path / "a" / "1.png", tmp_path / "a" / "2.png"
    assert plain_views([one]).key != plain_views([other]).key


def test_transparency_becomes_white_and_the_whole_picture_is_kept():
    image = picture((0, 0, 0, 0))
    image.putpixel((0, 0), (255, 0, 0, 255))
    view = plain_view(image)
    assert view.size == (SIDE, SIDE)
    assert view.getpixel((SIDE // 2, 2)) == (255, 255, 255)
    red = np.asarray(view)[..., 1] < 200
    assert red.any()


def test_a_mosaic_shows_each_picture_in_its_quadrant():
    colours = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0)]
    view = mosaic([picture((*colour, 255), (9, 9)) for colour in colours])
    middles = [
        (HALF // 2 + HALF * (place % 2), HALF // 2 + HALF * (place // 2)) for place in range(4)
    ]
    assert [view.getpixel(middle) for middle in middles] == colours


def test_changes_are_by_chance_and_repeat():
    image = picture((9, 99, 199, 255))
    first, again, other = (changed_view(image, Random(seed)) for seed in (1, 1, 2))
    assert first.tobytes() == again.tobytes() != other.tobytes()
