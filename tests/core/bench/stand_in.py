"""A child that measures nothing: it says its first words at once, without a second for torch."""

import pytest

from core.bench.sweep import sweep
from core.bench.sweep.messages import Accuracy, Finished, Machine, Progress, to_line

MACHINE = Machine("cpu", "a processor", 1, 1e12, 1e11)
FIRST = (
    MACHINE,
    *(Accuracy(name, 2048, 7, 0.0, 0.0, 0.0, 1.0, 1.0) for name in ("flash", "linear")),
    Progress(0.1, "linear, round 2"),
)


def put(patch: pytest.MonkeyPatch) -> None:
    """Children of sweeps end at once, or, where their plan has 1,000 rounds, with their parent."""
    first = "".join(map(to_line, FIRST))
    script = (
        "import json, sys\n"
        f"print({first!r}, end='', flush=True)\n"
        "if json.loads(sys.argv[1])['rounds'] == 1000: sys.stdin.read()\n"
        f"else: print({to_line(Finished(1.0))!r}, end='')\n"
    )
    patch.setattr(sweep, "CHILD", ("-c", script))
