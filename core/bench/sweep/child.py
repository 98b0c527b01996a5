"""The child process: one plan in, one message a line out. `python -m core.bench.sweep.child`.

It lives no longer than its parent: its standard input is a pipe that the parent never writes to,
and that the system closes when the parent goes, however it goes.
"""

import json
import os
import sys
import threading
from pathlib import Path

import torch

from core.bench.sweep.inputs import read
from core.bench.sweep.measuring import measured
from core.bench.sweep.messages import to_line
from core.bench.sweep.saved import plan_from_dict
from core.models import devices


def main(arguments: list[str]) -> int:
    """Measure the plan, given as JSON, and tell the results.

    A second argument is the file of q, k and v that are measured on; it is gone once it is read.
    """
    plan = plan_from_dict(json.loads(arguments[0]))
    model_call = None
    if len(arguments) > 1:
        path = Path(arguments[1])
        model_call = read(path, devices.resolve(plan.device))
        path.unlink()
    threading.Thread(target=leave_with_parent, daemon=True).start()
    torch.set_num_threads(plan.threads)
    # What libraries print is no message.
    told, sys.stdout = sys.stdout, sys.stderr
    for message in measured(plan, model_call):
        told.write(to_line(message))
        told.flush()
    return 0


def leave_with_parent() -> None:
    """Wait until nobody holds the other end of standard input, then leave at once."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
