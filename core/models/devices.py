"""Devices and precisions: only those that this machine has, found out by using them."""

from functools import lru_cache

import torch
import torch.nn.functional as F

from core.errors import InputError

PRECISIONS = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def devices() -> tuple[str, ...]:
    """'auto' first, then what is really there."""
    found = ["auto", "cpu"]
    if torch.cuda.is_available():
        found.append("cuda")
    if torch.backends.mps.is_available():
        found.append("mps")
    return tuple(found)


def resolve(device: str) -> torch.device:
    """The device to use; 'auto' is the fastest that is there.

    Raises:
        InputError: if the device does not exist on this machine.
    """
    there = devices()
    if device == "auto":
        return torch.device(next((name for name in ("cuda", "mps") if name in there), "cpu"))
    if device not in (*there, *(f"cuda:{index}" for index in range(torch.cuda.device_count()))):
        wanted = ", ".join(there)
        raise InputError(f"A device of this machine was wanted ({wanted}); '{device}' came.")
    return torch.device(device)


def precisions(device: str) -> tuple[str, ...]:
    """Names of the precisions in which attention and a matrix product run on a device.

    float32 always does; where it fails, as on a full device, the run itself says why.
    """
    where = resolve(device)
    return tuple(
        name for name, dtype in PRECISIONS.items() if name == "float32" or _works(where, dtype)
    )


def precision(name: str, device: torch.device) -> torch.dtype:
    """The type of a precision's name.

    Raises:
        InputError: if the name is unknown, or the device cannot compute in it.
    """
    there = precisions(str(device))
    if name not in there:
        raise InputError(
            f"A precision that works on {device} was wanted ({', '.join(there)}); '{name}' came."
        )
    return PRECISIONS[name]


def _works(device: torch.device, dtype: torch.dtype) -> bool:
    try:
        return _has_kernels(device, dtype)
    except (RuntimeError, MemoryError):  # a device that is full now may have room the next time
        return False


@lru_cache(maxsize=32)  # an error is not kept
def _has_kernels(device: torch.device, dtype: torch.dtype) -> bool:
    """Can torch compute in this type? An error that does not answer that is raised."""
    tensor = torch.ones(1, 1, 2, 8, device=device, dtype=dtype)
    try:
        F.scaled_dot_product_attention(tensor @ tensor.mT @ tensor, tensor, tensor)
    except torch.OutOfMemoryError:
        raise
    except RuntimeError as error:  # what torch raises for a type it has no kernel for
        if "out of memory" in str(error):
            raise
        return False
    return True
