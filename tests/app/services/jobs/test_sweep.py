"""A run of the lab: a second visitor waits and may leave; nobody's process stays behind."""

import subprocess
import sys
import time
from dataclasses import replace

import psutil
import pytest

from app.services.jobs import job
from app.services.jobs.job import Status
from app.services.jobs.sweep import SweepJob
from app.services.turns import Turns
from core.bench.sweep import sweep
from core.bench.sweep.plan import Plan
from tests.core.bench import stand_in
from tests.test_start import ROOT

PATIENCE = 60.0
TINY = Plan(mechanisms=("flash", "linear"), lengths=(16, 32), heads=2, dim=8, rounds=5, threads=1)
LONG = replace(TINY, lengths=(2048,), rounds=1000, most_seconds=1e9)


@pytest.fixture
def turns(monkeypatch):
    """A queue; no process may be left when a test is over. They measure nothing."""
    stand_in.put(monkeypatch)
    before = children()
    yield Turns()
    assert until(lambda: children() <= before)


def children():
    """Processes that live, those of other tests included."""
    return {
        process.pid
        for process in psutil.Process().children(recursive=True)
        if process.status() != psutil.STATUS_ZOMBIE
    }


def until(true, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def started(turns, **how):
    """A run whose process has said its first word."""
    running = SweepJob(LONG, turns, **how)
    assert until(lambda: running.sweep.messages)
    return running


def test_the_second_visitor_waits_is_told_and_runs_afterwards(turns):
    first = started(turns)
    second = SweepJob(TINY, turns)
    assert until(lambda: second.ahead == 1)
    assert second.sweep._child is None
    first.cancel()
    assert second.finished.wait(PATIENCE)
    assert second.results.finished
    assert (first.status, second.status) == (Status.CANCELLED, Status.DONE)
    assert second.ahead == 0


def test_the_second_visitor_can_leave_and_never_starts(turns):
    first = started(turns)
    second = SweepJob(TINY, turns)
    assert until(lambda: second.ahead == 1)
    assert second.status is Status.WAITING
    second.cancel()
    assert second.finished.wait(10)
    assert not first.finished.is_set()
    assert second.sweep._child is None
    assert second.error is None
    first.cancel()


def test_a_run_ends_when_its_page_is_closed_or_reloaded(turns, monkeypatch):
    monkeypatch.setattr(job, "GONE", 0.5)
    open_pages = [True]
    running = started(turns, connected=lambda: bool(open_pages))
    time.sleep(1.5)
    assert not running.finished.is_set()
    open_pages.clear()
    assert running.finished.wait(10)
    assert running.sweep.cancelled


def test_a_connection_that_comes_back_in_time_ends_nothing(turns, monkeypatch):
    monkeypatch.setattr(job, "LOOK", 0.05)
    answers = [False] * 5
    running = started(turns, connected=lambda: not answers or answers.pop())
    time.sleep(1.0)
    assert not running.finished.is_set()
    running.cancel()


def test_a_run_that_nobody_looks_at_ends(turns, monkeypatch):
    monkeypatch.setattr(job, "UNSEEN", 0.5)
    running = SweepJob(LONG, turns)
    assert running.finished.wait(PATIENCE)
    assert running.sweep.cancelled


def test_a_process_that_is_killed_is_told(turns):
    running = started(turns)
    running.sweep._child.kill()
    assert running.finished.wait(PATIENCE)
    assert "by the signal SIGKILL" in running.error
    assert running.status is Status.FAILED
    assert not running.results.finished


def test_no_process_outlives_a_server_that_is_killed():
    server = (
        "from dataclasses import replace\n"
        "from core.bench.sweep.sweep import Sweep\n"
        "from tests.app.services.jobs.test_sweep import LONG\n"
        "run = Sweep(LONG)\n"
        "for _ in run:\n"
        "    print(run._child.pid, flush=True)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", server], cwd=ROOT, stdout=subprocess.PIPE, encoding="utf-8"
    )
    child = psutil.Process(int(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()
    assert until(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_the_last_words_of_a_process_that_fails_are_told(turns, monkeypatch):
    monkeypatch.setattr(sweep, "CHILD", ("-c", "raise MemoryError('no room for the scores')"))
    running = SweepJob(TINY, turns)
    assert running.finished.wait(PATIENCE)
    assert running.error.endswith("its last words: MemoryError: no room for the scores")
