"""The bench's times beside torch.utils.benchmark in a process that imports nothing of the bench."""

import subprocess
import sys

import pytest
import torch

from core.bench.bars import plain
from core.bench.bars.plain import Compared, compare, here

MORE = 3  # times


@pytest.mark.processes
def test_the_plain_process_imports_nothing_of_the_bench():
    asked = "\nassert not [name for name in sys.modules if name.startswith('core.bench')]"
    command = [sys.executable, "-c", plain.SCRIPT + asked, "flash", "1", "2", "8", "16"]
    subprocess.run(command, cwd=plain.ROOT, check=True, capture_output=True)


def test_held_is_within_a_tenth_of_what_plain_processes_take():
    steady = (1.0, 1.02, 1.04)
    assert Compared("flash", 512, (1.1, 1.12, 1.13), steady).held
    assert not Compared("flash", 512, (1.2, 1.2, 1.2), steady).held
    assert not Compared("flash", 512, (0.5, 0.5, 0.5), steady).held  # flattering is no better
    assert Compared("flash", 512, (1.1, 1.0, 1.2), steady).ratio == pytest.approx(1.1 / 1.02)
    # Plain processes that have two speeds themselves: either is true.
    assert Compared("linear", 512, (1.4, 1.5, 0.7), (0.7, 0.8, 1.7)).held


@pytest.mark.slow
@pytest.mark.parametrize("name", here())
def test_each_mechanism_takes_what_a_plain_process_takes(name):
    torch.set_num_threads(2)
    for found in compare(name):
        sys.stdout.write(f"{found.line()}\n")
        for _ in range(MORE):
            if found.held:
                break
            # A neighbour may have been busy: more processes of both, and the medians of all.
            more = compare(name, (found.length,), processes=4)[0]
            found = Compared(name, found.length, found.ours + more.ours, found.plain + more.plain)
            sys.stdout.write(f"{found.line()}\n")
        assert found.held
