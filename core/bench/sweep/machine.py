"""Machine: what is measured on, by the names that people know."""

import platform
from pathlib import Path

import torch

from core.bench.rates import Rates
from core.bench.sweep.messages import Machine
from core.models.model import versions

PROCESSORS = Path("/proc/cpuinfo")


def machine(device: torch.device, rates: Rates) -> Machine:
    """This machine, with the threads that torch has now."""
    return Machine(
        device=str(device),
        name=torch.cuda.get_device_name(device) if device.type == "cuda" else processor(),
        threads=torch.get_num_threads(),
        flops=rates.flops,
        bytes=rates.bytes,
        versions={**versions(), "python": platform.python_version()},
    )


def processor() -> str:
    """The processor's name; its architecture where the system does not tell."""
    if PROCESSORS.exists():
        for line in PROCESSORS.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
