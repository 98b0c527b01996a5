"""Payloads decode, by the documented formula alone, to the weights they were made from."""

import base64
import json
import zlib

import numpy as np
import pytest

from core.picture.canvas.encode import (
    HALF_BYTES,
    STEPS,
    encode,
    encode_each,
    encode_map,
    encode_mask,
    root_levels,
)
from core.picture.canvas.packing import packed
from core.picture.canvas.views import map_data
from core.picture.colours.palettes import PALETTES, palette, table


def unpacked(payload: dict, dtype: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(payload["data"])), dtype)


def decoded(payload: dict) -> np.ndarray:
    if payload["bits"] == 16:
        shares = unpacked(payload, "<u2") / 65535
        return (shares * payload["top"]).reshape(payload["shape"])
    levels = unpacked(payload, "u1")
    if payload["bits"] == 4:
        halves = np.stack([levels & 15, levels >> 4], axis=-1).ravel()
        levels = np.minimum(halves[: np.prod(payload["shape"])] * int(payload["step"]), 255)
    columns = ((levels / 255) ** 2 * payload["top"]).reshape(payload["shape"][::-1])
    return columns.T


def attention(*shape: int, sharpness: float = 1.0) -> np.ndarray:
    scores = np.random.default_rng(0).normal(size=shape) * sharpness
    weights = np.exp(scores)
    return (weights / weights.sum(axis=-1, keepdims=True)).astype(np.float32)


def test_small_matrix_comes_back_within_half_of_one_of_65535_steps():
    weights = attention(11, 13)
    payload = encode(weights)
    assert payload["bits"] == 16
    np.testing.assert_allclose(decoded(payload), weights, atol=weights.max() / 65535 / 2 * 1.01)


def test_large_matrix_comes_back_on_the_root_scale_within_half_a_level():
    weights = attention(151, 139, sharpness=3.0)
    payload = encode(weights)
    assert payload["bits"] == 8
    roots = np.sqrt(decoded(payload) / weights.max())
    wanted = np.sqrt(weights / weights.max())
    np.testing.assert_allclose(roots, wanted, atol=payload["step"] / 255 / 2 * 1.01)


@pytest.mark.parametrize(("cells", "bits"), [(20_000, 16), (20_001, 8)])
def test_precision_changes_after_20000_cells(cells, bits):
    assert encode(np.ones((1, cells), np.float32))["bits"] == bits


def test_zero_and_the_maximum_are_exact():
    weights = np.array([[0.0, 0.3], [0.0, 0.0]], np.float32)
    assert decoded(encode(weights))[0, 1] == pytest.approx(np.float32(0.3), rel=1e-9)
    assert decoded(encode(weights))[1].tolist() == [0.0, 0.0]


def test_a_matrix_of_zeros_has_top_zero_and_no_nan():
    payload = encode(np.zeros((3, 5), np.float32))
    assert payload["top"] == 0.0
    assert not decoded(payload).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -0.1])
def test_what_cannot_be_shown_honestly_is_refused(bad):
    with pytest.raises(ValueError, match="wanted"):
        encode(np.array([[0.5, bad]], np.float32))


@pytest.mark.parametrize("sharpness", [0.0, 0.3, 1.0, 3.0, 6.0])
def test_a_head_of_512_tokens_travels_in_52_kb(sharpness):
    weights = attention(512, 512, sharpness=sharpness)
    payload = encode(weights)
    roots = np.sqrt(decoded(payload) / weights.max())
    wanted = np.sqrt(weights / weights.max())
    np.testing.assert_allclose(roots, wanted, atol=payload["step"] / 255 / 2 * 1.01)
    names = [f"token{position}" for position in range(512)]
    assert len(packed(map_data(encode_map(weights), names, names, run="r"))) <= 54_000


def test_even_noise_that_does_not_compress_comes_with_the_coarsest_step():
    noise = np.random.default_rng(0).random((512, 512)).astype(np.float32)
    payload = encode(noise)
    assert payload["step"] == STEPS[-1]
    assert len(json.dumps(payload)) <= 120_000


@pytest.mark.parametrize("step", STEPS)
def test_the_maximum_is_itself_on_every_root_scale(step):
    assert root_levels(np.ones((3, 5)), step).min() == 255
    assert (step >= HALF_BYTES) == (round(255 / step) <= 15)


def test_four_bits_hold_an_odd_number_of_cells():
    weights = np.random.default_rng(0).random((401, 403)).astype(np.float32)
    payload = encode(weights)
    assert payload["bits"] == 4
    roots = np.sqrt(decoded(payload) / weights.max())
    np.testing.assert_allclose(
        roots, np.sqrt(weights / weights.max()), atol=payload["step"] / 255 / 2 * 1.01
    )


def test_a_packed_view_opens_as_it_was():
    weights = encode_map(attention(3, 5), np.tril(np.ones((3, 5), bool)))
    view = map_data(weights, ["a", "\u05e9", "\ud83d"], list("abcde"), run="r")
    bytes_ = packed(view)
    length = int.from_bytes(bytes_[:4], "little")
    opened = json.loads(bytes_[4 : 4 + length].decode("utf-8", "surrogatepass"))
    behind = bytes_[4 + length :]
    for payload in (opened["values"], opened["masked"]):
        start, stop = payload["data"]
        payload["data"] = base64.b64encode(behind[start:stop]).decode()
    assert opened == view


def test_keys_that_are_the_queries_are_sent_once():
    view = map_data(encode_map(attention(3, 3)), list("abc"), list("abc"), run="r")
    assert packed(view).count(b'"a", "b", "c"') == 1


def test_a_mosaic_of_144_heads_stays_under_200_kb_as_json():
    payload = encode_each(attention(12, 12, 32, 32))
    assert len(json.dumps(payload)) <= 200_000


def test_each_head_has_its_own_scale():
    grids = attention(2, 3, 5, 7) * np.array([1.0, 1e-3, 0.0], np.float32)[:, None, None]
    payload = encode_each(grids)
    tops = grids.max(axis=(2, 3)).ravel()
    np.testing.assert_allclose(payload["tops"], tops, rtol=1e-4)
    roots = (unpacked(payload, "u1") / 255).reshape(grids.shape)
    wanted = np.sqrt(grids / np.where(tops > 0, tops, 1).reshape(2, 3, 1, 1))
    np.testing.assert_allclose(roots, wanted, atol=0.51 / 255)


def test_mask_bits_come_back_in_reading_order():
    masked = np.random.default_rng(0).random((5, 7)) < 0.5
    bits = np.unpackbits(unpacked(encode_mask(masked), "u1"), bitorder="little")[:35]
    assert bits.reshape(5, 7).astype(bool).tolist() == masked.tolist()


def test_rows_with_no_allowed_key_are_listed_t3():
    allowed = np.tril(np.ones((5, 5), bool))
    allowed[:, :2] = False
    payload = encode_map(np.zeros((5, 5), np.float32), allowed)
    assert payload["no_key"] == [0, 1]


def test_nothing_masked_sends_no_mask():
    payload = encode_map(attention(3, 5), np.ones((3, 5), bool))
    assert payload["masked"] is None
    assert payload["no_key"] == []


@pytest.mark.parametrize("name", PALETTES)
def test_palettes_grow_brighter_step_by_step(name):
    brightness = table(name).astype(float) @ [0.2126, 0.7152, 0.0722]
    assert len(base64.b64decode(palette(name))) == 768
    # Two steps: 8-bit rounding makes single ones jitter.
    assert (brightness[2:] - brightness[:-2] > -0.6).all()


def test_an_unknown_palette_is_refused_by_name():
    with pytest.raises(ValueError, match="'jet'"):
        palette("jet")
