"""Given: q, k and v of one attention call of a real model, in a file for the measuring process."""

import json
from functools import partial
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from core.attention import MECHANISMS
from core.attention.common.grid import Grid
from core.attention.common.mechanism import Attend
from core.capture.trace import AttentionCall


def write(call: AttentionCall, path: Path) -> None:
    """Put a call that still has its v into a file.

    Raises:
        ValueError: if it has no v.
    """
    if call.value is None:
        raise ValueError("a call recorded with its value was wanted; one without came")
    tensors = {"query": call.query, "key": call.key, "value": call.value, "mask": call.mask}
    # Copies: views of one packed projection share their memory, which no file may.
    own = {
        name: tensor.cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
        if tensor is not None
    }
    how = {"scale": call.scale, "is_causal": call.is_causal, "grid": call.grid}
    save_file(own, path, metadata={"how": json.dumps(how)})


def read(path: Path, device: torch.device) -> AttentionCall:
    """The call again, on a device."""
    with safe_open(path, "pt") as file:
        tensors = {name: file.get_tensor(name).to(device, copy=True) for name in file.keys()}  # noqa: SIM118 it is no dict
        how = json.loads(file.metadata()["how"])
    grid = None if how["grid"] is None else Grid(*how["grid"])
    return AttentionCall(
        query=tensors["query"], key=tensors["key"], value=tensors["value"],
        mask=tensors.get("mask"), is_causal=how["is_causal"], scale=how["scale"], grid=grid,
        mechanism=None, kernel="",
    )  # fmt: skip


def attend_like(mechanism: str, model_call: AttentionCall | None) -> Attend:
    """A mechanism; with the mask, the scale and the grid of a call where there is one."""
    chosen = MECHANISMS[mechanism]
    if model_call is None:
        return chosen.attend
    return partial(
        chosen.attend, mask=model_call.mask, scale=model_call.scale, grid=model_call.grid
    )
