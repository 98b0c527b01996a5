"""Work in processes of its own: times come back, errors are raised here, nothing stays behind."""

import os
import time
from functools import partial

import psutil
import pytest

from core.bench import processes
from core.bench.processes import Alone, Here, sample


def sleeping(seconds):
    return lambda: partial(time.sleep, seconds)


def failing():
    """Each turn fails, and says which it was."""
    return lambda number: partial(fail, number)


def fail(number):
    raise ValueError(f"turn {number} failed in process {os.getpid()}")


def broken():
    raise ValueError("it cannot be made")


def test_a_sample_is_one_long_call_or_a_block_of_short_ones(monkeypatch):
    monkeypatch.setattr(processes, "BLOCK", 0.02)
    calls = []
    quick = sample(lambda: calls.append(time.sleep(0.002)))
    # After the first, as many calls of 2 ms as 20 ms hold and one more; a busy machine makes fewer.
    assert 3 <= len(calls) <= 12
    assert quick.seconds >= 0.002
    calls.clear()
    long = sample(lambda: calls.append(time.sleep(0.11)))
    assert len(calls) == 1
    assert long.seconds == long.first >= 0.11


@pytest.mark.processes
def test_work_in_this_process_and_alone_takes_the_same_turns():
    here = Here(partial(sleeping, 0.01))
    assert here.turn().seconds >= 0.01
    alone = Alone(partial(sleeping, 0.01), threads=1)
    process = psutil.Process(alone._process.pid)
    alone.ready()
    assert alone.turn().seconds >= 0.01
    alone.end()
    assert not process.is_running()


@pytest.mark.processes
def test_what_the_work_raises_over_there_is_raised_here():
    alone = Alone(failing, threads=1)
    alone.ready()
    with pytest.raises(ValueError, match=rf"turn 7 failed in process {alone._process.pid}"):
        alone.turn(7)
    alone.end()
    unmade = Alone(broken, threads=1)
    with pytest.raises(ValueError, match="it cannot be made"):
        unmade.ready()
    unmade.end()


@pytest.mark.processes
def test_a_process_that_dies_is_noticed():
    alone = Alone(partial(sleeping, 30.0), threads=1)
    alone.ready()
    alone._process.kill()
    with pytest.raises((EOFError, OSError)):
        alone.turn()
    alone.end()
