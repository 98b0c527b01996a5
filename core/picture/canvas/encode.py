"""Weights packed small for the browser: quantised, deflated, in base64, read back exactly there.

A picture format would be smaller still, but reading pixels back from a canvas gives false numbers
in browsers that guard against fingerprinting.
"""

import base64
import zlib
from bisect import bisect_left
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, UInt8

LINEAR_CELLS = 20_000  # up to here 16 bits a cell cost little, and hover shows exact numbers
LINEAR_LEVELS = 65_535
ROOT_LEVELS = 255
# Deflated bytes: with all that comes beside it, a head of 512 x 512 stays under 60 kB.
ROOT_BYTES = 46_000
ROOT_BYTES_PER_CELL = ROOT_BYTES / 512**2
# Of the 256 levels every so many-th is used. Each of these steps rounds the maximum to itself.
STEPS = (1, 2, 3, 4, 5, 8, 10, 13, 17, 20, 26, 32, 51)
HALF_BYTES = 17  # from this step on there are no more than 16 levels: two cells share a byte
SAMPLE = 8  # one column in so many tells about how small the whole will be
EXCESS = 1.1  # and has so much more to tell, as it finds fewer repetitions
DEFLATE = 6  # level 9 takes ten times as long for a tenth of the bytes: zooming must not wait

Payload = dict[str, Any]


def encode(matrix: Float[np.ndarray, "..."], top: float | None = None) -> Payload:
    """One matrix on one scale: 16 bits linear while it is small, 8 bits on a root scale above.

    The scale ends at `top`, the largest value if None.

    `bits` tells which: a 16-bit level n means top * n / 65535, an 8-bit one top * (n / 255)^2. Of
    the 256 root levels only every `step`-th is used where the rest would not fit the budget; with
    4 bits the data counts in steps, the first of two cells in the lower half of a byte. A root
    scale comes column by column: what one key is looked at with repeats more than a query's row.

    Raises:
        ValueError: if a value is negative, infinite or not a number.
    """
    check_weights(matrix)
    top = float(matrix.max(initial=0.0)) if top is None else top
    share = matrix / top if top > 0 else np.zeros_like(matrix)
    head = {"shape": list(matrix.shape), "top": top}
    if matrix.size <= LINEAR_CELLS:
        levels = np.rint(share.astype(np.float64) * LINEAR_LEVELS).astype("<u2")
        return {**head, "bits": 16, "step": 1, "data": pack(levels.tobytes())}
    step, data = smallest_step(np.sqrt(share).reshape(-1, matrix.shape[-1]))
    bits = 4 if step >= HALF_BYTES else 8
    return {**head, "bits": bits, "step": step, "by": "column", "data": data}


def encode_each(grids: Float[np.ndarray, "layer head *rest"]) -> Payload:
    """Many heads, each on its own square-root scale of 8 bits; `tops` has one maximum a head.

    Raises:
        ValueError: if a value is negative, infinite or not a number.
    """
    check_weights(grids)
    layers, heads = grids.shape[:2]
    flat = grids.reshape(layers * heads, -1)
    tops = flat.max(axis=1, initial=0.0)
    share = flat / np.where(tops > 0, tops, 1.0)[:, None]
    return {
        "shape": list(grids.shape),
        "tops": [significant(top) for top in tops.tolist()],
        "bits": 8,
        "step": 1,
        "data": pack(root_levels(share, step=1).tobytes()),
    }


def encode_signed(values: Float[np.ndarray, "..."]) -> Payload:
    """Values of either sign: the `least` of them, and `encode` of how far each lies above it.

    Raises:
        ValueError: if a value is infinite or not a number.
    """
    least = values.min(initial=np.inf) if np.isfinite(values).all() else np.nan
    return {"least": float(least), "above": encode(values - least)}


def encode_mask(masked: Bool[np.ndarray, "q k"]) -> Payload:
    """True where a query may not look, one bit a cell, the first cell in the lowest bit."""
    bits = np.packbits(masked, bitorder="little")
    return {"shape": list(masked.shape), "data": pack(bits.tobytes())}


def encode_map(
    weights: Float[np.ndarray, "q k"],
    allowed: Bool[np.ndarray, "q k"] | None = None,
    top: float | None = None,
) -> Payload:
    """One head: its values, the cells that are masked, and the rows with no allowed key at all.

    Raises:
        ValueError: if a value is negative, infinite or not a number.
    """
    payload: Payload = {"values": encode(weights, top), "masked": None, "no_key": []}
    if allowed is not None and not allowed.all():
        payload["masked"] = encode_mask(~allowed)
        payload["no_key"] = np.flatnonzero(~allowed.any(axis=1)).tolist()
    return payload


def check_weights(weights: Float[np.ndarray, "..."]) -> None:
    """Refuse what no colour and no number on hover could show honestly."""
    if not np.isfinite(weights).all():
        bad = int((~np.isfinite(weights)).sum())
        raise ValueError(f"finite weights were wanted; {bad} of {weights.size} are NaN or infinite")
    if (weights < 0).any():
        raise ValueError(f"weights of 0 or more were wanted; the lowest is {weights.min():.3g}")


def root_levels(share: Float[np.ndarray, "..."], step: int) -> UInt8[np.ndarray, "..."]:
    """Shares of the maximum on a square-root scale, rounded to every `step`-th of 256 levels."""
    roots = np.sqrt(share) * (ROOT_LEVELS / step)
    return np.minimum(np.rint(roots) * step, ROOT_LEVELS).astype(np.uint8)


def smallest_step(roots: Float[np.ndarray, "row column"]) -> tuple[int, str]:
    """The finest step of the root scale whose deflated bytes fit the budget, and those bytes.

    What fits nowhere, as even noise, comes with the coarsest step.
    """
    budget = max(ROOT_BYTES, roots.size * ROOT_BYTES_PER_CELL) * 4 / 3
    columns = np.ascontiguousarray(roots.T) * ROOT_LEVELS
    sample = columns[::SAMPLE]
    part = EXCESS * budget * len(sample) / len(columns)
    first = bisect_left(STEPS, -part, key=lambda step: -len(pack_steps(sample, step)))
    for step in STEPS[min(first, len(STEPS) - 1) :]:
        data = pack_steps(columns, step)
        if len(data) <= budget:
            break
    return step, data


def pack_steps(roots: Float[np.ndarray, "column row"], step: int) -> str:
    """Square roots up to 255, rounded to every `step`-th level, packed."""
    steps = np.rint(roots * (1 / step)).astype(np.uint8).ravel()
    if step < HALF_BYTES:
        return pack(np.minimum(np.uint16(step) * steps, ROOT_LEVELS).astype(np.uint8).tobytes())
    steps = np.append(steps, np.uint8(0)) if steps.size % 2 else steps
    return pack((steps[0::2] | steps[1::2] << 4).tobytes())


def pack(raw: bytes) -> str:
    """Deflated (with zlib's header, as the browser's 'deflate' wants it) and in base64."""
    return base64.b64encode(zlib.compress(raw, level=DEFLATE)).decode("ascii")


def significant(number: float, digits: int = 5) -> float:
    """Rounded to a few significant digits: the exact float32 would take twenty characters."""
    return float(f"{number:.{digits}g}")
